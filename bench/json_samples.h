// bench/json_samples.h
//
// The documents that json_bench decodes, made in memory and the same on every run: a list of pods
// as kube-apiserver writes it (compact, managed fields included) and a list of nodes as slurmrestd
// writes it (data_parser v0.0.45).
#pragma once

#include <fmt/format.h>

#include <string>

namespace mainspring::bench {

inline void append_managed_fields(std::string& out, int i) {
  out += fmt::format(
      R"j("managedFields":[{{"manager":"kube-controller-manager","operation":"Update","apiVersion":"v1","time":"2026-11-15T08:{:02}:11Z","fieldsType":"FieldsV1","fieldsV1":{{"f:metadata":{{"f:annotations":{{".":{{}},"f:slinky.slurm.net/node-id":{{}},"f:slinky.slurm.net/job-id":{{}}}},"f:generateName":{{}},"f:labels":{{".":{{}},"f:app.kubernetes.io/name":{{}},"f:app.kubernetes.io/instance":{{}},"f:app.kubernetes.io/component":{{}},"f:controller-revision-hash":{{}}}},"f:ownerReferences":{{".":{{}},"k:{{\"uid\":\"5b0c1a52-9d5e-4f43-8f0e-{:012x}\"}}":{{}}}}}},"f:spec":{{"f:containers":{{"k:{{\"name\":\"slurmd\"}}":{{".":{{}},"f:env":{{".":{{}},"k:{{\"name\":\"POD_CPUS\"}}":{{".":{{}},"f:name":{{}},"f:valueFrom":{{".":{{}},"f:resourceFieldRef":{{}}}}}}}},"f:image":{{}},"f:imagePullPolicy":{{}},"f:name":{{}},"f:ports":{{".":{{}},"k:{{\"containerPort\":6818,\"protocol\":\"TCP\"}}":{{".":{{}},"f:containerPort":{{}},"f:name":{{}},"f:protocol":{{}}}}}},"f:resources":{{".":{{}},"f:limits":{{".":{{}},"f:cpu":{{}},"f:memory":{{}},"f:nvidia.com/gpu":{{}}}},"f:requests":{{".":{{}},"f:cpu":{{}},"f:memory":{{}}}}}},"f:volumeMounts":{{".":{{}},"k:{{\"mountPath\":\"/etc/slurm\"}}":{{".":{{}},"f:mountPath":{{}},"f:name":{{}}}}}}}}}},"f:nodeSelector":{{}},"f:restartPolicy":{{}},"f:schedulerName":{{}},"f:tolerations":{{}},"f:volumes":{{}}}}}}}},{{"manager":"kubelet","operation":"Update","apiVersion":"v1","time":"2026-11-15T08:{:02}:19Z","fieldsType":"FieldsV1","fieldsV1":{{"f:status":{{"f:conditions":{{"k:{{\"type\":\"Ready\"}}":{{".":{{}},"f:lastProbeTime":{{}},"f:lastTransitionTime":{{}},"f:status":{{}},"f:type":{{}}}}}},"f:containerStatuses":{{}},"f:hostIP":{{}},"f:phase":{{}},"f:podIP":{{}},"f:startTime":{{}}}}}},"subresource":"status"}}])j",
      i % 60, i, i % 60);
}

inline void append_pod_metadata(std::string& out, int i) {
  out += fmt::format(
      R"j({{"metadata":{{"name":"slurm-worker-gpu-{0}","generateName":"slurm-worker-gpu-","namespace":"slurm","uid":"0d9e4a1c-7f2b-4c1d-a7d5-{0:012x}","resourceVersion":"{1}","creationTimestamp":"2026-11-15T08:{2:02}:10Z","labels":{{"app.kubernetes.io/component":"worker","app.kubernetes.io/instance":"slurm-worker-gpu","app.kubernetes.io/name":"slurmd","controller-revision-hash":"5c7d8f9b4","nodeset.slinky.slurm.net/pod-index":"{0}","nodeset.slinky.slurm.net/pod-name":"slurm-worker-gpu-{0}"}},"annotations":{{"slinky.slurm.net/job-id":"{3}","slinky.slurm.net/node-id":"gpu-{0}","kubernetes.io/description":"worker {0} of \"gpu\""}},"ownerReferences":[{{"apiVersion":"slinky.slurm.net/v1beta1","kind":"NodeSet","name":"slurm-worker-gpu","uid":"5b0c1a52-9d5e-4f43-8f0e-{0:012x}","controller":true,"blockOwnerDeletion":true}}],)j",
      i, 1'000'000 + i * 7, i % 60, 40'000 + i);
  append_managed_fields(out, i);
  out += "},";
}

inline void append_pod_spec(std::string& out, int i) {
  out += fmt::format(
      R"j("spec":{{"volumes":[{{"name":"etc-slurm","projected":{{"sources":[{{"configMap":{{"name":"slurm-config"}}}},{{"secret":{{"name":"slurm-auth","items":[{{"key":"slurm.key","path":"slurm.key"}}]}}}}],"defaultMode":384}}}},{{"name":"run","emptyDir":{{"medium":"Memory"}}}}],"containers":[{{"name":"slurmd","image":"registry.example/slurmd:26.05","ports":[{{"name":"slurmd","containerPort":6818,"protocol":"TCP"}}],"env":[{{"name":"POD_CPUS","valueFrom":{{"resourceFieldRef":{{"resource":"limits.cpu","divisor":"0"}}}}}},{{"name":"SLURM_NODE","value":"gpu-{0}"}}],"resources":{{"limits":{{"cpu":"64","memory":"512Gi","nvidia.com/gpu":"8"}},"requests":{{"cpu":"64","memory":"512Gi","nvidia.com/gpu":"8"}}}},"volumeMounts":[{{"name":"etc-slurm","mountPath":"/etc/slurm","readOnly":true}},{{"name":"run","mountPath":"/run"}}],"readinessProbe":{{"exec":{{"command":["scontrol","show","slurmd"]}},"timeoutSeconds":1,"periodSeconds":10,"successThreshold":1,"failureThreshold":3}},"terminationMessagePath":"/dev/termination-log","terminationMessagePolicy":"File","imagePullPolicy":"IfNotPresent","securityContext":{{"privileged":true}}}}],"restartPolicy":"Always","terminationGracePeriodSeconds":30,"dnsPolicy":"ClusterFirst","nodeSelector":{{"kubernetes.io/os":"linux"}},"serviceAccountName":"default","nodeName":"node-{0}.cluster.local","hostNetwork":false,"schedulerName":"default-scheduler","tolerations":[{{"key":"nvidia.com/gpu","operator":"Exists","effect":"NoSchedule"}},{{"key":"node.kubernetes.io/not-ready","operator":"Exists","effect":"NoExecute","tolerationSeconds":300}}],"priority":0,"enableServiceLinks":true,"preemptionPolicy":"PreemptLowerPriority"}},)j",
      i);
}

inline void append_pod_status(std::string& out, int i) {
  out += fmt::format(
      R"j("status":{{"phase":"Running","conditions":[{{"type":"PodReadyToStartContainers","status":"True","lastProbeTime":null,"lastTransitionTime":"2026-11-15T08:{1:02}:12Z"}},{{"type":"Initialized","status":"True","lastProbeTime":null,"lastTransitionTime":"2026-11-15T08:{1:02}:10Z"}},{{"type":"Ready","status":"True","lastProbeTime":null,"lastTransitionTime":"2026-11-15T08:{1:02}:19Z"}},{{"type":"PodScheduled","status":"True","lastProbeTime":null,"lastTransitionTime":"2026-11-15T08:{1:02}:10Z"}}],"hostIP":"10.0.{2}.{3}","hostIPs":[{{"ip":"10.0.{2}.{3}"}}],"podIP":"10.244.{2}.{3}","podIPs":[{{"ip":"10.244.{2}.{3}"}}],"startTime":"2026-11-15T08:{1:02}:10Z","containerStatuses":[{{"name":"slurmd","state":{{"running":{{"startedAt":"2026-11-15T08:{1:02}:12Z"}}}},"lastState":{{}},"ready":true,"restartCount":0,"image":"registry.example/slurmd:26.05","imageID":"sha256:9b1f7c0d2a3e4f5061728394a5b6c7d8e9f00112233445566778899aabbccdd","containerID":"containerd://4f1c2d3e4b5a69788796a5b4c3d2e1f00f1e2d3c4b5a69788796a5b4{0:08x}","started":true}}],"qosClass":"Guaranteed"}}}})j",
      i, i % 60, i / 250, i % 250);
}

inline std::string pod_list(int pods) {
  std::string out =
      R"j({"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"9876543"},"items":[)j";
  for (int i = 0; i < pods; ++i) {
    if (i != 0) out += ',';
    append_pod_metadata(out, i);
    append_pod_spec(out, i);
    append_pod_status(out, i);
  }
  return out + "]}\n";
}

inline void append_slurm_node(std::string& out, int i) {
  const auto time = [](std::string_view name, long at) {
    return fmt::format(R"j("{}":{{"set":true,"infinite":false,"number":{}}},)j", name, at);
  };
  const bool busy = i % 3 == 0;
  out += R"j({"architecture":"x86_64","burstbuffer_network_address":"","boards":1,)j";
  out += time("boot_time", 1794769711 + i) + time("tls_cert_last_renewal", 0);
  out += fmt::format(
      R"j("cert_flags":[],"cluster_name":"","cores":32,"specialized_cores":0,"cpu_binding":0,"cpu_load":{},)j",
      363 + i);
  out += time("free_mem", 17587 + i);
  out +=
      R"j("cpus":64,"effective_cpus":64,"specialized_cpus":"","energy":{"average_watts":412,"base_consumed_energy":0,"consumed_energy":88123456,"current_watts":{"set":true,"infinite":false,"number":431},"previous_consumed_energy":0,"last_collected":1794770767},)j";
  out += fmt::format(
      R"j("extra":"{{\"pod\":\"slurm/slurm-worker-gpu-{0}\",\"uid\":\"0d9e4a1c-7f2b-4c1d-a7d5-{0:012x}\"}}","features":["gpu","h100","ib","nodeset-gpu"],"active_features":["gpu","h100","ib","nodeset-gpu"],"gpu_spec":"","gres":"gpu:h100:8(S:0-1)","gres_drained":"N/A","gres_used":"gpu:h100:{1}(IDX:{2})","instance_id":"i-{0:017x}","instance_type":"p5.48xlarge",)j",
      i, busy ? 8 : 0, busy ? "0-7" : "N/A");
  out += time("last_busy", 1794770767 + i);
  out += fmt::format(
      R"j("mcs_label":"","specialized_memory":0,"name":"gpu-{0}","next_state_after_reboot":["INVALID"],"address":"10.244.{1}.{2}","hostname":"slurm-worker-gpu-{0}","state":["{3}","DYNAMIC_NORM"],"operating_system":"Linux 6.12.57 #1 SMP PREEMPT_DYNAMIC Debian 6.12.57-1 (2026-11-05)","owner":"","partitions":["all","gpu","preemptible"],"port":6818,"real_memory":2063800,"res_cores_per_gpu":0,"comment":"pod slurm/slurm-worker-gpu-{0} on node-{0}.cluster.local","reason":"",)j",
      i, i / 250, i % 250, busy ? "ALLOCATED" : "IDLE");
  out += time("reason_changed_at", 0) + R"j("reason_set_by_user":"",)j" + time("resume_after", 0);
  out += R"j("reservation":"","suspend_time":{"set":false,"infinite":true,"number":0},)j";
  out += fmt::format(
      R"j("alloc_memory":{0},"alloc_cpus":{1},"alloc_idle_cpus":{2},"tres_used":"{3}",)j",
      busy ? 2063800 : 0, busy ? 64 : 0, busy ? 0 : 64,
      busy ? "cpu=64,mem=2063800M,gres/gpu=8,gres/gpu:h100=8" : "");
  out += time("slurmd_start_time", 1794770767);
  out +=
      R"j("sockets":2,"threads":1,"temporary_disk":7340032,"weight":1,"topology":"default:s0.leaf12.block3","tres":"cpu=64,mem=2063800M,billing=64,gres/gpu=8,gres/gpu:h100=8","version":"26.05.5"})j";
}

inline std::string slurm_nodes(int nodes) {
  std::string out = R"j({"nodes":[)j";
  for (int i = 0; i < nodes; ++i) {
    if (i != 0) out += ',';
    append_slurm_node(out, i);
  }
  return out +
         R"j(],"last_update":{"set":true,"infinite":false,"number":1794770808},"meta":{"plugin":{"type":"openapi/slurmctld","name":"Slurm OpenAPI slurmctld","data_parser":"data_parser/v0.0.45","accounting_storage":""},"slurm":{"version":{"major":"26","micro":"5","minor":"05"},"release":"26.05.5","cluster":"gpu"}},"errors":[],"warnings":[]})j";
}

}  // namespace mainspring::bench
