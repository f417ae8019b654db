// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"kubi.zone/kubizone/pkg/bind9/fleet"
	"kubi.zone/kubizone/pkg/bind9/fleet/render"
	"kubi.zone/kubizone/test/rig"
)

// kubelet runs the pods of a namespace as processes: what is in their volumes it reads from the cluster, and reads it
// again, as a kubelet does, while they run. Directories and ports of a pod are others here; nothing else differs.
type kubelet struct {
	w    *world
	dir  string
	mu   sync.Mutex
	pods map[string]*localPod
	// dns is the port at which the next pod answers, so that an address stays as that of a Service does.
	dns netip.AddrPort
	// newest: a pod that comes while another one runs takes its place at once. Else it waits until that has gone.
	newest bool
	// node is where pods are placed; "": nowhere, and one runs at a time. Pods of a node have addresses and ports of
	// their own, and proxies stand before them.
	node string
	// state are the files that a pod of bindy has in its directory of zones, as bindcar writes them.
	state map[string]string
	// placed counts the pods of the node.
	placed int
}

// localPod is a pod as processes.
type localPod struct {
	pod                 *corev1.Pod
	dir, ip             string
	dns, control, agent netip.AddrPort
	probe               netip.AddrPort // open while named answers, as the supervisor of the agent says
	named, program      *rig.Process
	// started: the startup probe of this named has succeeded.
	started bool
	// env is the environment of named, beside that of the test.
	env []string
	// stopped is when the pod was first seen to be deleted.
	stopped time.Time
	// failed counts the probes in a row that failed.
	failed int
	// written and shown are the files of the volume as they are here, and as they are in the cluster.
	written, shown map[string]string
}

func newKubelet(w *world) *kubelet {
	w.t.Helper()
	at, err := rig.FreePort()
	w.mustSucceed(err)
	k := &kubelet{w: w, dir: w.t.TempDir(), pods: map[string]*localPod{}, dns: at}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for w.ctx.Err() == nil {
			k.syncPods()
			select {
			case <-w.ctx.Done():
			case <-time.After(200 * time.Millisecond): // how often a kubelet looks at its volumes
			}
		}
	}()
	w.t.Cleanup(func() {
		<-ended
		for _, p := range k.pods {
			p.endProcesses()
		}
	})
	return k
}

func (p *localPod) endProcesses() {
	for _, process := range []*rig.Process{p.program, p.named} {
		if process != nil {
			process.End()
		}
	}
}

// isStopping reports whether a pod that is deleted is still in its preStop.
func (p *localPod) isStopping(now time.Time) bool {
	if p.stopped.IsZero() {
		p.stopped = now
	}
	var most time.Duration
	for _, container := range p.pod.Spec.Containers {
		if hooks := container.Lifecycle; hooks != nil && hooks.PreStop != nil && hooks.PreStop.Sleep != nil {
			most = max(most, time.Duration(hooks.PreStop.Sleep.Seconds)*time.Second)
		}
	}
	return now.Sub(p.stopped) < most
}

// syncPods has one process pair for each pod, with the files that its volumes have now.
func (k *kubelet) syncPods() {
	list, err := k.w.core.CoreV1().Pods(k.w.namespace).List(k.w.ctx, metav1.ListOptions{})
	if err != nil {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	// A pod that no scheduler has placed is gone as soon as it is deleted. One of a node answers on until its preStop
	// is over.
	for name, local := range k.pods {
		at := slices.IndexFunc(list.Items, func(pod corev1.Pod) bool { return pod.Name == name && pod.UID == local.pod.UID })
		if at >= 0 && list.Items[at].DeletionTimestamp == nil {
			continue
		}
		if at >= 0 && k.node != "" && local.isStopping(time.Now()) {
			continue
		}
		local.endProcesses()
		delete(k.pods, name)
	}
	if k.newest {
		k.keepNewest(list)
	}
	for i := range list.Items {
		pod := &list.Items[i]
		local := k.pods[pod.Name]
		if pod.DeletionTimestamp != nil {
			if local != nil {
				continue // in its preStop
			}
			none := int64(0)
			_ = k.w.core.CoreV1().Pods(pod.Namespace).Delete(k.w.ctx, pod.Name, metav1.DeleteOptions{GracePeriodSeconds: &none})
			continue
		}
		if local == nil {
			if len(k.pods) > 0 && k.node == "" {
				continue // one at a time has the address
			}
			if local, err = k.placePod(pod); err != nil {
				k.w.t.Log(err)
				continue
			}
			k.pods[pod.Name] = local
		}
		if err := k.refreshPod(local); err != nil && k.w.ctx.Err() == nil {
			k.w.t.Log(err)
		}
	}
}

// keepNewest ends what runs where a newer pod has come, and leaves that one alone in the list beside pods that go.
func (k *kubelet) keepNewest(list *corev1.PodList) {
	var newest *corev1.Pod
	for i := range list.Items {
		if pod := &list.Items[i]; pod.DeletionTimestamp == nil && (newest == nil || newest.CreationTimestamp.Before(&pod.CreationTimestamp)) {
			newest = pod
		}
	}
	if newest == nil {
		return
	}
	name := newest.Name
	for running, local := range k.pods {
		if running != name {
			local.endProcesses()
			delete(k.pods, running)
		}
	}
	list.Items = slices.DeleteFunc(list.Items, func(pod corev1.Pod) bool { return pod.DeletionTimestamp == nil && pod.Name != name })
}

func (k *kubelet) placePod(pod *corev1.Pod) (*localPod, error) {
	p := &localPod{pod: pod, dir: filepath.Join(k.dir, pod.Name), dns: k.dns, ip: "192.0.2.1"}
	var err error
	if k.node != "" {
		if k.placed++; k.placed > 250 {
			return nil, errors.New("the node has no further address")
		}
		p.ip = fmt.Sprintf("192.0.2.%d", k.placed)
		if p.dns, err = rig.FreePort(); err != nil {
			return nil, err
		}
		if err := k.w.core.CoreV1().Pods(pod.Namespace).Bind(k.w.ctx, &corev1.Binding{ObjectMeta: metav1.ObjectMeta{Name: pod.Name, Namespace: pod.Namespace}, Target: corev1.ObjectReference{Kind: "Node", Name: k.node}}, metav1.CreateOptions{}); err != nil && !apierrors.IsConflict(err) {
			return nil, err
		}
	}
	if p.control, err = rig.FreePort(); err != nil {
		return nil, err
	}
	if p.agent, err = rig.FreePort(); err != nil {
		return nil, err
	}
	if p.probe, err = rig.FreePort(); err != nil {
		return nil, err
	}
	for _, dir := range []string{"etc", "state"} {
		if err := os.MkdirAll(filepath.Join(p.dir, dir), 0o700); err != nil {
			return nil, err
		}
	}
	if !isFleets(pod) {
		for file, text := range k.state {
			if err := os.WriteFile(filepath.Join(p.dir, "state", file), []byte(text), 0o600); err != nil {
				return nil, err
			}
		}
	}
	return p, nil
}

// isFleets reports whether a pod is of the fleet, or of bindy.
func isFleets(pod *corev1.Pod) bool { return pod.Labels[render.LabelManager] == render.Manager }

// localizeText returns a text of the pod with directories and ports of this machine.
func (p *localPod) localizeText(text string) string {
	return strings.NewReplacer(
		render.ConfigDir, filepath.Join(p.dir, "etc"), render.StateDir, filepath.Join(p.dir, "state"),
		fmt.Sprintf("listen-on port %d { any; }", render.DNSPort), fmt.Sprintf("listen-on port %d { 127.0.0.1; }", p.dns.Port()),
		fmt.Sprintf("listen-on-v6 port %d { any; }", render.DNSPort), "listen-on-v6 { none; }",
		fmt.Sprintf("inet 127.0.0.1 port %d", render.RNDCPort), fmt.Sprintf("inet 127.0.0.1 port %d", p.control.Port()),
		fmt.Sprintf("127.0.0.1:%d", render.RNDCPort), p.control.String(), fmt.Sprintf("127.0.0.1:%d", render.DNSPort), p.dns.String(),
		"--listen=:"+strconv.Itoa(render.AgentPort), "--listen="+p.agent.String(),
		"--supervise=:"+strconv.Itoa(render.ProbePort), "--supervise="+p.probe.String(),
	).Replace(text)
}

// readVolume is the content of the projected volume, from the objects that its sources name.
func (k *kubelet) readVolume(pod *corev1.Pod) (map[string]string, error) {
	files := map[string]string{}
	for _, volume := range pod.Spec.Volumes {
		if volume.Projected == nil {
			if err := k.readMounts(pod, &volume, files); err != nil {
				return nil, err
			}
			continue
		}
		for _, source := range volume.Projected.Sources {
			switch {
			case source.ConfigMap != nil:
				of, err := k.w.core.CoreV1().ConfigMaps(pod.Namespace).Get(k.w.ctx, source.ConfigMap.Name, metav1.GetOptions{})
				if err != nil {
					return nil, err
				}
				for _, item := range source.ConfigMap.Items {
					files[item.Path] = of.Data[item.Key]
				}
			case source.Secret != nil:
				of, err := k.w.core.CoreV1().Secrets(pod.Namespace).Get(k.w.ctx, source.Secret.Name, metav1.GetOptions{})
				if err != nil {
					return nil, err
				}
				for _, item := range source.Secret.Items {
					value, ok := of.Data[item.Key]
					if !ok {
						return nil, fmt.Errorf("secret %s has no %s", of.Name, item.Key)
					}
					files[item.Path] = string(value)
				}
			}
		}
	}
	return files, nil
}

// readMounts reads a Secret or ConfigMap that a container of bindy mounts, whole or one file of it.
func (k *kubelet) readMounts(pod *corev1.Pod, volume *corev1.Volume, files map[string]string) error {
	data := map[string]string{}
	switch {
	case volume.Secret != nil:
		of, err := k.w.core.CoreV1().Secrets(pod.Namespace).Get(k.w.ctx, volume.Secret.SecretName, metav1.GetOptions{})
		if err != nil {
			return err
		}
		for key, value := range of.Data {
			data[key] = string(value)
		}
	case volume.ConfigMap != nil:
		of, err := k.w.core.CoreV1().ConfigMaps(pod.Namespace).Get(k.w.ctx, volume.ConfigMap.Name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		data = of.Data
	}
	for _, mount := range pod.Spec.Containers[0].VolumeMounts {
		path, err := filepath.Rel(render.ConfigDir, mount.MountPath)
		if err != nil || mount.Name != volume.Name {
			continue
		}
		if mount.SubPath != "" {
			files[path] = data[mount.SubPath]
			continue
		}
		for key, text := range data {
			files[filepath.Join(path, key)] = text
		}
	}
	return nil
}

// refreshPod writes the volume where it has changed, starts what does not run, and says how the pod is.
func (k *kubelet) refreshPod(p *localPod) error {
	shown, err := k.readVolume(p.pod)
	if err != nil {
		return err
	}
	if !maps.Equal(shown, p.shown) {
		written := map[string]string{}
		for file, text := range shown {
			written[file] = p.localizeText(text)
			if err := os.MkdirAll(filepath.Dir(filepath.Join(p.dir, "etc", file)), 0o700); err != nil {
				return err
			}
			if err := rig.ReplaceFile(filepath.Join(p.dir, "etc", file), []byte(written[file])); err != nil {
				return err
			}
		}
		p.shown, p.written = shown, written
	}
	for _, container := range p.pod.Spec.Containers {
		process, arguments := &p.named, append(slices.Clone(container.Command), container.Args...)
		if len(arguments) == 0 {
			continue // bindcar, which has made the zones already
		}
		if container.Name == render.AgentContainer {
			process, arguments = &p.program, append([]string{k.w.program}, arguments...)
		} else {
			// One worker is plenty, and machines that test have few processors.
			arguments = append(arguments, "-n", "1")
			program, err := rig.Find(arguments[0], "apt-get install bind9")
			if err != nil {
				return err
			}
			arguments[0] = program
		}
		if *process != nil {
			select {
			case <-(*process).Ended():
				_ = syscall.Kill(-(*process).Pid(), syscall.SIGKILL) // a container ends with its first process
			default:
				continue
			}
		}
		for i := range arguments {
			arguments[i] = p.localizeText(arguments[i])
		}
		var env []string
		if process == &p.named {
			env, p.started = p.env, false
		}
		if *process, err = rig.StartProcess(env, p.dir, arguments[0], arguments[1:]...); err != nil {
			return err
		}
	}
	ready := corev1.ConditionFalse
	if err := k.probePod(p); err == nil {
		ready, p.failed = corev1.ConditionTrue, 0
	} else if p.failed++; p.failed < probeFailures {
		return nil // not yet unready, as a kubelet sees it
	}
	if slices.ContainsFunc(p.pod.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == corev1.PodReady && c.Status == ready }) {
		return nil
	}
	status, err := json.Marshal(map[string]any{"status": map[string]any{
		"phase": "Running", "podIP": p.ip, "podIPs": []map[string]string{{"ip": p.ip}},
		"conditions": []corev1.PodCondition{{Type: corev1.PodReady, Status: ready, LastTransitionTime: metav1.Now()}},
	}})
	if err != nil {
		return err
	}
	pod, err := k.w.core.CoreV1().Pods(p.pod.Namespace).Patch(k.w.ctx, p.pod.Name, types.MergePatchType, status, metav1.PatchOptions{}, "status")
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err == nil {
		p.pod = pod
	}
	return err
}

// probeFailures is the failureThreshold of the readiness probes of the fleet.
const probeFailures = 2

// probes verifies no certificate, as a kubelet does not.
var probes = &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}

// probePod carries out the probes of a pod. Where the startup probe asks the agent, it does so once for each named, and
// then the readiness probe asks the supervisor of the agent for a connection. Else named is asked for one.
func (k *kubelet) probePod(p *localPod) error {
	asksAgent := slices.ContainsFunc(p.pod.Spec.Containers, func(c corev1.Container) bool {
		return c.StartupProbe != nil && c.StartupProbe.HTTPGet != nil
	})
	at := p.dns
	if asksAgent {
		at = p.probe
	}
	if asksAgent && !p.started {
		request, err := http.NewRequestWithContext(k.w.ctx, http.MethodGet, "https://"+p.agent.String()+"/api/v1/ready", nil)
		if err != nil {
			return err
		}
		answer, err := probes.Do(request)
		if err != nil {
			return err
		}
		defer answer.Body.Close()
		if answer.StatusCode != http.StatusOK {
			return errors.New(answer.Status)
		}
		p.started = true
	}
	connection, err := (&net.Dialer{Timeout: time.Second}).DialContext(k.w.ctx, "tcp", at.String())
	if err != nil {
		return err
	}
	return connection.Close()
}

// askAgent asks the agent of a pod over https what BIND has loaded, and answers for the files of the cluster where BIND
// has those that stand for them here.
func (k *kubelet) askAgent(ctx context.Context, p *localPod, server *render.Server) (string, error) {
	if server == nil {
		instance := p.pod.Labels["bind9.kubi.zone/instance"]
		secret, err := k.w.core.CoreV1().Secrets(p.pod.Namespace).Get(ctx, render.AgentSecretName(instance), metav1.GetOptions{})
		if err != nil {
			return "", err
		}
		access, err := render.ReadAccess(secret.Data)
		if err != nil {
			return "", err
		}
		server = &render.Server{Namespace: p.pod.Namespace, Name: instance, Access: access}
	}
	got, err := fleet.AskAgentAt(ctx, p.agent.String(), server)
	if err == nil && got == "" {
		err = fmt.Errorf("BIND has loaded nothing yet")
	}
	if err == nil && got == render.Hash(p.written) {
		got = render.Hash(p.shown)
	}
	return got, err
}

// Ask is for fleet.Config.
func (k *kubelet) askPod(ctx context.Context, pod *corev1.Pod, server *render.Server) (string, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	p := k.pods[pod.Name]
	if p == nil {
		return "", fmt.Errorf("the pod does not run")
	}
	return k.askAgent(ctx, p, server)
}

// askMembers is for fleet.Config.
func (k *kubelet) askMembers(ctx context.Context, pod *corev1.Pod, server *render.Server) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	p := k.pods[pod.Name]
	if p == nil {
		return errors.New("the pod does not run")
	}
	return fleet.AskMembersAt(ctx, p.agent.String(), server)
}

// findAddress returns where a pod with an address answers; nothing for one that has gone.
func (k *kubelet) findAddress(ip string) (netip.AddrPort, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, p := range k.pods {
		if p.ip == ip {
			return p.dns, true
		}
	}
	return netip.AddrPort{}, false
}

// getOnlyPod returns the one pod that runs.
func (k *kubelet) getOnlyPod() *localPod {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, p := range k.pods {
		return p
	}
	return nil
}
