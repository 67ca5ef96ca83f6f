"""Networks: they turn observations into features and recurrent state. They know no head, loss or algorithm."""
