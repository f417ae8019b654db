// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package deploy

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"kubi.zone/kubizone/api/client/clientset/versioned"
	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/rig"
	"kubi.zone/kubizone/test/rig/kuberig"
)

// pod is a pod of the StatefulSet in form ha: processes with its user, and a file system with only the program, the
// mounts and the headless Service's names. So paths, member names and writable directories are the chart's.
type pod struct {
	r             *release
	name, root    string
	serving, peer netip.AddrPort
	peers         []string // pairs of NAME:PORT, as rendered and as used

	process *rig.Process
}

const podUser = 65532

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

// Pods need separate ports, because all share this machine.
func (p *pod) makeCommand(of corev1.Container, further ...string) *exec.Cmd {
	p.r.t.Helper()
	p.mountVolumes(of)
	replacer := strings.NewReplacer(append([]string{
		"$(POD_NAMESPACE)", kuberig.InstallNamespace, "$(POD_NAME)", p.name,
		"--secure-port=10250", fmt.Sprintf("--secure-port=%d", p.serving.Port()), "https://0.0.0.0:2380", "https://" + p.peer.String(),
		// The rig's balancer probes ten times a second.
		"--shutdown-delay-duration=10s", "--shutdown-delay-duration=1s",
	}, p.peers...)...)
	command := exec.Command("/kubizone", "--kubeconfig=/kubeconfig")
	for i, argument := range of.Args {
		// Names of members contain $(POD_NAMESPACE) too.
		command.Args = slices.Insert(command.Args, i+1, replacer.Replace(replacer.Replace(argument)))
	}
	command.Args = append(command.Args, further...)
	command.Dir, command.Env = "/", []string{}
	command.SysProcAttr = &syscall.SysProcAttr{Chroot: p.root}
	if os.Getuid() == 0 {
		command.SysProcAttr.Credential = &syscall.Credential{Uid: podUser, Gid: podUser}
	} else { // a user namespace that permits chroot
		command.SysProcAttr.Cloneflags = syscall.CLONE_NEWUSER
		command.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: podUser, HostID: os.Getuid(), Size: 1}}
		command.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: podUser, HostID: os.Getgid(), Size: 1}}
	}
	return command
}

// startContainers runs the init containers, then the server.
func (p *pod) startContainers(template corev1.PodTemplateSpec) {
	p.r.t.Helper()
	for _, one := range template.Spec.InitContainers {
		if out, err := p.makeCommand(one).CombinedOutput(); err != nil {
			p.r.t.Fatalf("%s of %s: %v\n%s", one.Name, p.name, err, out)
		}
	}
	p.process = must.Get(rig.StartCommand(p.makeCommand(template.Spec.Containers[0], "--bind-address=127.0.0.1")))(p.r.t)
}

func (p *pod) stop(signal syscall.Signal) {
	p.process.Signal(signal)
	select {
	case <-p.process.Ended():
	case <-time.After(waitTimeout):
		p.process.Kill()
		p.r.t.Errorf("%s does not stop", p.name)
	}
}

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

// M11: the form ha as installed by helm. A rolling upgrade, and a restart, cause no error to a client that obeys
// Retry-After. If a server is killed, the others accept writes. Nothing is lost.
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
	if _, err := r.runHelm("upgrade", "kubizone", chart, "--set", "mode=embedded"); err == nil ||
		!strings.Contains(err.Error(), "mode: ha is installed") {
		t.Errorf("from ha to embedded: %v", err)
	}
	of := findServers(t, r.listObjects())
	pods := newPods(r, int(*of.Replicas))
	t.Cleanup(func() {
		for _, p := range pods {
			if p.process == nil {
				continue
			}
			if p.stop(syscall.SIGTERM); t.Failed() {
				t.Logf("%s says:\n%s", p.name, p.process.Log())
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

	restart := func(p *pod) {
		p.stop(syscall.SIGTERM)
		p.startContainers(of.Template)
		waitReady(len(pods))
	}
	rounds := 1
	if rig.Long() {
		rounds = 10
	}
	w := r.startWriters()
	for round := range rounds {
		if round%2 == 0 { // else a restart
			r.mustHelm("upgrade", "kubizone", chart, "--set", fmt.Sprintf("apiserver.extraArgs={--v=%d}", 1+round%4/2))
			of = findServers(t, r.listObjects())
		}
		for _, p := range slices.Backward(pods) { // in the order of a StatefulSet
			restart(p)
		}
	}
	w.stopWriting()

	// A server is killed: clients read errors until the others have a leader.
	pods[1].stop(syscall.SIGKILL)
	w.writeUntil()
	restart(pods[1])
	for _, p := range pods {
		// Each server answers from its own member.
		service.Set(p.serving)
		waitReady(1)
		w.expectContents(p.name)
	}
	service.Set(backends...)
	waitReady(len(pods))
	r.mustHelm("uninstall", "kubizone")
}

// writers change Records twenty times a second in all. Clients obey Retry-After and retry nothing else.
type writers struct {
	r      *release
	stop   context.CancelFunc
	ended  sync.WaitGroup
	client *versioned.Clientset

	mu       sync.Mutex
	answers  map[string]int // of every request, by code
	errors   []error
	slowest  time.Duration
	contents map[string]string // the value of each Record, by name
}

const writersAtOnce, writePause = 8, 400 * time.Millisecond

func (r *release) startWriters() *writers {
	r.t.Helper()
	w := &writers{r: r, answers: map[string]int{}, contents: map[string]string{}}
	config := r.kube.Admin()
	config.QPS = -1
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return countAnswers{w, next} })
	w.client = must.Get(versioned.NewForConfig(config))(r.t)
	ctx, stop := context.WithCancel(r.t.Context())
	w.stop = stop
	for i := range writersAtOnce {
		w.ended.Go(func() {
			tick := time.NewTicker(writePause)
			defer tick.Stop()
			for n, failures := 0, 0; ; n++ {
				select {
				case <-ctx.Done():
					return
				case <-tick.C:
				}
				if !w.writeOnce(fmt.Sprintf("w%d-%d", i, failures), n) {
					n, failures = -1, failures+1
				}
			}
		})
	}
	return w
}

// countAnswers includes client-go's retries.
type countAnswers struct {
	w    *writers
	next http.RoundTripper
}

// lostInProxy are parts of kube-apiserver's own errors for requests with a body that meet the end of a connection to
// a server (kubernetes/kubernetes#135285). The server has not seen such a request: the test repeats a request, and must
// find no earlier effect.
var lostInProxy = []string{
	"GOAWAY] after Request.Body was written", "cannot rewind body after connection loss", "invalid Read on closed Body",
}

func (c countAnswers) RoundTrip(r *http.Request) (*http.Response, error) {
	for again := false; ; again = true {
		response, err := c.next.RoundTrip(r)
		what := "no answer"
		if err == nil {
			what = fmt.Sprint(response.StatusCode)
		}
		var text []byte
		if err == nil && response.StatusCode >= http.StatusInternalServerError {
			text, _ = io.ReadAll(response.Body)
			response.Body.Close()
			response.Body = io.NopCloser(bytes.NewReader(text))
			what += fmt.Sprintf(" (Retry-After %q) %s", response.Header.Get("Retry-After"), text)
		}
		c.w.mu.Lock()
		c.w.answers[what]++
		c.w.mu.Unlock()
		lost := slices.ContainsFunc(lostInProxy, func(part string) bool { return bytes.Contains(text, []byte(part)) })
		if !lost || again || r.GetBody == nil {
			return response, err
		}
		if r.Body, err = r.GetBody(); err != nil {
			return nil, err
		}
	}
}

// writeOnce creates, changes or removes a writer's Record, in turn, and reports success.
func (w *writers) writeOnce(name string, n int) bool {
	began := time.Now()
	ctx, cancel := context.WithTimeout(w.r.t.Context(), waitTimeout)
	defer cancel()
	records, value := w.client.KubizoneV1alpha1().Records("team-a"), fmt.Sprintf("192.0.2.%d", n%250+1)
	what, err := "patch", error(nil)
	switch n % 4 {
	case 0:
		what = "create"
		_, err = records.Create(ctx, newRecord(name, value), metav1.CreateOptions{})
	case 3:
		what, value = "delete", ""
		err = records.Delete(ctx, name, metav1.DeleteOptions{})
	default:
		_, err = records.Patch(ctx, name, types.MergePatchType, []byte(`{"spec": {"values": ["`+value+`"]}}`), metav1.PatchOptions{})
	}
	elapsed := time.Since(began)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.slowest = max(w.slowest, elapsed)
	switch {
	case err != nil:
		w.errors = append(w.errors, fmt.Errorf("%s %s after %s: %w", what, name, elapsed.Round(time.Millisecond), err))
	case value == "":
		delete(w.contents, name)
	default:
		w.contents[name] = value
	}
	return err == nil
}

func (w *writers) stopWriting() {
	w.r.t.Helper()
	w.stop()
	w.ended.Wait()
	w.r.t.Logf("answers by code: %v; slowest %s", w.answers, w.slowest.Round(time.Millisecond))
	for _, err := range w.errors {
		w.r.t.Error(err)
	}
}

// writeUntil retries without bound.
func (w *writers) writeUntil() {
	w.r.t.Helper()
	for start := time.Now(); ; rig.Pause(start) {
		_, err := w.client.KubizoneV1alpha1().Records("team-a").Create(w.r.withTimeout(), newRecord("late", "192.0.2.1"),
			metav1.CreateOptions{})
		if err == nil || apierrors.IsAlreadyExists(err) { // by a try with an unknown outcome
			break
		}
		if time.Since(start) > waitTimeout || apierrors.IsForbidden(err) {
			w.r.t.Fatal(err)
		}
	}
	w.contents["late"] = "192.0.2.1"
}

func (w *writers) expectContents(server string) {
	w.r.t.Helper()
	list := must.Get(w.client.KubizoneV1alpha1().Records("team-a").List(w.r.withTimeout(), metav1.ListOptions{}))(w.r.t)
	got := map[string]string{}
	for _, one := range list.Items {
		got[one.Name] = strings.Join(one.Spec.Values, " ")
	}
	if !maps.Equal(got, w.contents) {
		w.r.t.Errorf("%s has %v, want %v", server, got, w.contents)
	}
}

func newRecord(name, value string) *v1alpha1.Record {
	return &v1alpha1.Record{ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: v1alpha1.RecordSpec{DomainName: name + ".z.example.", Type: "A", Values: []string{value}}}
}
