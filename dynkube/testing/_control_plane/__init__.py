"""A real control plane, etcd and kube-apiserver as processes of their own: what :class:`ControlPlane` is made of."""
