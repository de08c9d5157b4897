"""dev/cluster: a real Kubernetes on this machine, without Docker.

Read layout.py first (what a cluster consists of and where), then up.py and down.py.
"""
