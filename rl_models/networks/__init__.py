"""Networks: observations in, features and recurrent state out. They know no head, loss or algorithm."""
