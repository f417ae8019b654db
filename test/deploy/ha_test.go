// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package deploy

import (
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/rig"
	"kubi.zone/kubizone/test/rig/kuberig"
)

// pod is one of the StatefulSet of the form ha. Its processes have its user, and see a file system in which nothing is
// but the program, what the pod mounts, and the names of the headless Service. So the paths, the names of the members
// and what may be written are those that the chart renders.
type pod struct {
	r             *release
	name, root    string
	serving, peer netip.AddrPort
	peers         []string // pairs of NAME:PORT as rendered and as the process has it

	log  *buffer
	stop func(syscall.Signal)
}

// podUser is that of the pod's securityContext.
const podUser = 65532

// newPods makes the file systems of all members.
func newPods(r *release, members int) []*pod {
	r.t.Helper()
	var pods []*pod
	var hosts strings.Builder
	var peers []string
	for n := range members {
		p := &pod{r: r, name: fmt.Sprintf("%s-%d", kuberig.ServerName, n), root: r.t.TempDir()}
		for _, at := range []*netip.AddrPort{&p.serving, &p.peer} {

			*at = must.Get(rig.FreePort())(r.t)
		}
		host := p.name + ".kubizone-etcd." + kuberig.InstallNamespace + ".svc"
		fmt.Fprintf(&hosts, "127.0.0.1 %s\n", host)
		peers = append(peers, host+":2380", fmt.Sprintf("%s:%d", host, p.peer.Port()))
		pods = append(pods, p)
	}
	account := must.Get(r.kube.ServiceAccount(r.withTimeout(), kuberig.InstallNamespace, kuberig.ServerName))(r.t)
	kubeconfig := must.Get(os.ReadFile(account))(r.t)
	program := must.Get(os.ReadFile(r.binary))(r.t)
	for _, p := range pods {
		p.peers = peers
		for name, file := range map[string]struct {
			text []byte
			mode os.FileMode
		}{
			"kubizone": {program, 0o755}, "etc/hosts": {[]byte(hosts.String()), 0o644}, "kubeconfig": {kubeconfig, 0o644},
		} {
			path := filepath.Join(p.root, name)
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil { //nolint:gosec // as in an image
				r.t.Fatal(err)
			}
			must.Succeed(r.t, os.WriteFile(path, file.text, file.mode))
		}
	}
	return pods
}

// mountVolumes makes a directory for each volume of the container, which the pod's user may write.
func (p *pod) mountVolumes(of corev1.Container) {
	p.r.t.Helper()
	for _, volume := range of.VolumeMounts {
		path := filepath.Join(p.root, volume.MountPath)
		if err := os.MkdirAll(path, 0o755); err != nil { //nolint:gosec // as a kubelet makes it
			p.r.t.Fatal(err)
		}
		if os.Getuid() == 0 {
			must.Succeed(p.r.t, os.Chown(path, podUser, podUser))
		}
	}
}

// makeCommand runs a container of the pod. It listens on its own ports, because all pods are on this machine.
func (p *pod) makeCommand(of corev1.Container, further ...string) *exec.Cmd {
	p.r.t.Helper()
	p.mountVolumes(of)
	replacer := strings.NewReplacer(append([]string{
		"$(POD_NAMESPACE)", kuberig.InstallNamespace, "$(POD_NAME)", p.name,
		"--secure-port=10250", fmt.Sprintf("--secure-port=%d", p.serving.Port()), "https://0.0.0.0:2380", "https://" + p.peer.String(),
		// The balancer of the rig probes ten times a second.
		"--shutdown-delay-duration=10s", "--shutdown-delay-duration=1s",
	}, p.peers...)...)
	command := exec.Command("/kubizone", "--kubeconfig=/kubeconfig")
	for i, argument := range of.Args {
		// $(POD_NAMESPACE) stands in the names of members too.
		command.Args = slices.Insert(command.Args, i+1, replacer.Replace(replacer.Replace(argument)))
	}
	command.Args = append(command.Args, further...)
	command.Dir, command.Env = "/", []string{}
	command.SysProcAttr = &syscall.SysProcAttr{Chroot: p.root}
	if os.Getuid() == 0 {
		command.SysProcAttr.Credential = &syscall.Credential{Uid: podUser, Gid: podUser}
	} else { // a namespace of users in which this one may change the root
		command.SysProcAttr.Cloneflags = syscall.CLONE_NEWUSER
		command.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: podUser, HostID: os.Getuid(), Size: 1}}
		command.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: podUser, HostID: os.Getgid(), Size: 1}}
	}
	return command
}

// startContainers runs the containers of the template as a kubelet does: first those that end, then the server.
func (p *pod) startContainers(template corev1.PodTemplateSpec) {
	p.r.t.Helper()
	for _, one := range template.Spec.InitContainers {
		if out, err := p.makeCommand(one).CombinedOutput(); err != nil {
			p.r.t.Fatalf("%s of %s: %v\n%s", one.Name, p.name, err, out)
		}
	}
	p.log = &buffer{}
	command := p.makeCommand(template.Spec.Containers[0], "--bind-address=127.0.0.1")
	command.Stdout, command.Stderr = p.log, p.log
	must.Succeed(p.r.t, command.Start())
	ended := make(chan error, 1)
	go func() { ended <- command.Wait() }()
	running := true
	p.stop = func(signal syscall.Signal) {
		if !running {
			return
		}
		running = false
		command.Process.Signal(signal)
		select {
		case <-ended:
		case <-time.After(waitTimeout):
			command.Process.Kill()
			p.r.t.Errorf("%s does not stop", p.name)
		}
	}
}

// findServers returns what the objects say of the StatefulSet of the servers.
func findServers(t *testing.T, objects []*unstructured.Unstructured) appsv1.StatefulSetSpec {
	t.Helper()
	for _, object := range objects {
		if object.GetKind() == "StatefulSet" && object.GetName() == kuberig.ServerName {
			return convertTo[appsv1.StatefulSet](t, object).Spec
		}
	}
	t.Fatal("there is no StatefulSet of the servers")
	return appsv1.StatefulSetSpec{}
}

// M11: the form ha as helm installs it. Each of its servers in turn goes, one of them without a signal that it could
// answer, and comes back as an upgrade changes it; the others take writes, and nothing is lost.
func TestHelm_threeServers(t *testing.T) {
	t.Parallel()
	r := newRelease(t)
	service := must.Get(rig.StartBalancer())(t)
	t.Cleanup(service.Close)
	r.serveAt(service.Addr)
	must.Succeed(t, os.WriteFile(r.values, []byte("mode: ha\nimage: {repository: registry.example/kubizone}\ncontroller: {enabled: "+
		"false}\n"), 0o600))
	r.mustKubectl("create", "namespace", "team-a")
	r.mustHelm("install", "kubizone", chart, "--create-namespace")
	of := findServers(t, r.listObjects())
	pods := newPods(r, int(*of.Replicas))
	t.Cleanup(func() {
		for _, p := range pods {
			if p.stop != nil {
				p.stop(syscall.SIGTERM)
			}
			if t.Failed() && p.log != nil {
				t.Logf("%s says:\n%s", p.name, p.log)
			}
		}
	})
	var backends []netip.AddrPort
	for _, p := range pods {
		backends = append(backends, p.serving)
		p.startContainers(of.Template)
	}
	service.Set(backends...)
	waitReady := func(want int) {
		t.Helper()
		for start := time.Now(); service.Ready() != want; rig.Pause(start) {
			if time.Since(start) > waitTimeout {
				t.Fatalf("%d servers are ready, want %d", service.Ready(), want)
			}
		}
	}
	waitReady(len(pods))
	r.waitForKinds()
	own := strings.Replace(zone, "z.example.}", `z.example., delegations: [{namespace: team-a, records: [{pattern: "*"}]}]}`, 1)
	if out, stderr, err := r.runKubectl(own, "create", "-f", "-"); err != nil {
		t.Fatal(err, out, stderr)
	}

	r.mustHelm("upgrade", "kubizone", chart, "--set", "apiserver.extraArgs={--v=1}")
	of = findServers(t, r.listObjects())
	signals := []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL, syscall.SIGTERM}
	for n, p := range pods {
		p.stop(signals[n])
		waitReady(len(pods) - 1)
		record := fmt.Sprintf("{apiVersion: kubi.zone/v1alpha1, kind: Record, metadata: {name: r%d, namespace: team-a}, spec: {domainName: r%d.z.example., type: A, values: [192.0.2.%d]}}", n, n, n+1)
		for start := time.Now(); ; rig.Pause(start) {
			// A request that needs a leader is refused until the two others have one.
			_, stderr, err := r.runKubectl(record, "apply", "-f", "-")
			if err == nil {
				break
			}
			if time.Since(start) > waitTimeout || strings.Contains(stderr, "(Forbidden)") {
				t.Fatalf("without %s: %v\n%s", p.name, err, stderr)
			}
		}
		p.startContainers(of.Template)
		waitReady(len(pods))
	}
	for _, p := range pods {
		// Each of them answers the same from its own member.
		service.Set(p.serving)
		waitReady(1)
		if got := r.mustKubectl("get", "records", "-n", "team-a", "-o",
			"jsonpath={range .items[*]}{.metadata.name}={.status.fqdn} {end}"); got != "r0=r0.z.example. r1=r1.z.example. "+
			"r2=r2.z.example." {
			t.Errorf("%s has %s", p.name, got)
		}
	}
	service.Set(backends...)
	waitReady(len(pods))
	r.mustHelm("uninstall", "kubizone")
}
