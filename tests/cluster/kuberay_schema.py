"""JSON schemas of what our manifests use of KubeRay's v1 resources and of Kubernetes' pods.

Written from the public field references (KubeRay API reference for v1.6, Kubernetes API v1.28). Every object is closed:
a field that is misspelt or stands in the wrong place is refused, as a server with strict validation would refuse it.
"""

TEXT, WHOLE, FLAG = {"type": "string"}, {"type": "integer", "minimum": 0}, {"type": "boolean"}
NAME = {"type": "string", "pattern": r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$", "maxLength": 63}
QUANTITY = {"type": "string", "pattern": r"^\d+(\.\d+)?(m|Ki|Mi|Gi|Ti|k|M|G|T)?$"}
TEXTS = {"type": "object", "additionalProperties": TEXT}


def closed(required="", **fields):
    return {"type": "object", "properties": fields, "required": required.split(), "additionalProperties": False}


def many(one):
    return {"type": "array", "items": one}


def one_of(*words):
    return {"enum": list(words)}


METADATA = closed("name", name=NAME)
SECURITY = closed(allowPrivilegeEscalation=FLAG)
AMOUNTS = {"type": "object", "additionalProperties": QUANTITY}
RESOURCES = closed(requests=AMOUNTS, limits=AMOUNTS)
CONTAINER = closed(
    "name image",
    name=NAME,
    image=TEXT,
    ports=many(closed("containerPort", containerPort=WHOLE, name=NAME)),
    resources=RESOURCES,
    securityContext=SECURITY,
    volumeMounts=many(closed("name mountPath", name=NAME, mountPath=TEXT)),
)
POD = closed(
    "containers",
    containers={**many(CONTAINER), "minItems": 1},
    volumes=many(closed("name", name=NAME, persistentVolumeClaim=closed("claimName", claimName=NAME))),
    securityContext=closed(runAsNonRoot=FLAG, runAsUser=WHOLE, fsGroup=WHOLE),
    automountServiceAccountToken=FLAG,
    restartPolicy=one_of("Always", "OnFailure", "Never"),
)
TEMPLATE = closed("spec", spec=POD)

AUTOSCALER = closed(
    resources=RESOURCES,
    idleTimeoutSeconds=WHOLE,
    upscalingMode=one_of("Default", "Aggressive", "Conservative"),
)
HEAD = closed(
    "template rayStartParams",
    template=TEMPLATE,
    rayStartParams=TEXTS,
    serviceType=one_of("ClusterIP", "NodePort", "LoadBalancer"),
)
WORKERS = closed(
    "template groupName minReplicas maxReplicas rayStartParams",
    groupName=NAME,
    replicas=WHOLE,
    minReplicas=WHOLE,
    maxReplicas=WHOLE,
    rayStartParams=TEXTS,
    template=TEMPLATE,
)
CLUSTER_SPEC = closed(
    "headGroupSpec rayVersion",
    authOptions=closed(mode=one_of("disabled", "token"), secretName=NAME),
    autoscalerOptions=AUTOSCALER,
    enableInTreeAutoscaling=FLAG,
    headGroupSpec=HEAD,
    rayVersion={"type": "string", "pattern": r"^\d+\.\d+\.\d+$"},
    workerGroupSpecs=many(WORKERS),
)
JOB_SPEC = closed(
    "entrypoint",
    backoffLimit=WHOLE,
    rayClusterSpec=CLUSTER_SPEC,
    submitterPodTemplate=TEMPLATE,
    entrypoint=TEXT,
    runtimeEnvYAML=TEXT,
    submissionMode=one_of("K8sJobMode", "HTTPMode", "InteractiveMode", "SidecarMode"),
    ttlSecondsAfterFinished=WHOLE,
    shutdownAfterJobFinishes=FLAG,
)
CLAIM_SPEC = closed(
    "accessModes resources",
    accessModes=many(one_of("ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany", "ReadWriteOncePod")),
    resources=RESOURCES,
)


def resource(version, kind, spec):
    return closed(
        "apiVersion kind metadata spec", apiVersion=one_of(version), kind=one_of(kind), metadata=METADATA, spec=spec
    )


SCHEMAS = {
    "RayCluster": resource("ray.io/v1", "RayCluster", CLUSTER_SPEC),
    "RayJob": resource("ray.io/v1", "RayJob", JOB_SPEC),
    "PersistentVolumeClaim": resource("v1", "PersistentVolumeClaim", CLAIM_SPEC),
}
