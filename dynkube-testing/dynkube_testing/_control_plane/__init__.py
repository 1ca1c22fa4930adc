"""Implementation of ``ControlPlane``: etcd and kube-apiserver as processes."""
