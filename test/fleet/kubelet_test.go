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
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/rig"
)

// kubelet runs the pods of a namespace as processes, and syncs their volumes from the cluster. Only directories and
// ports differ from the specs.
type kubelet struct {
	w    *world
	dir  string
	mu   sync.Mutex
	pods map[string]*localPod
	// dns is the port of the next pod, so that the address stays, like a Service's.
	dns netip.AddrPort
	// newest: a new pod replaces a running pod at once. Else the new pod waits for the end of the old pod.
	newest bool
	// node is the node of pods; "": none, and pods run one at a time. Pods of a node have addresses and ports of
	// their own, behind proxies.
	node string
	// state are files in the zone directory of bindy's pods, as bindcar writes them.
	state  map[string]string
	placed int
}

type localPod struct {
	pod                 *corev1.Pod
	dir, ip             string
	dns, control, agent netip.AddrPort
	probe               netip.AddrPort // of the agent's supervisor, open while named answers
	named, program      *rig.Process
	// started: this named has passed the startup probe.
	started bool
	// env adds to named's environment.
	env     []string
	stopped time.Time
	failed  int
	// written and shown are the files of the volume, as localized here and as in the cluster.
	written, shown map[string]string
}

func newKubelet(w *world, node string) *kubelet {
	w.t.Helper()
	if node != "" {
		// EndpointSlices omit pods without a node.
		must.Get(w.core.CoreV1().Nodes().Create(w.ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: node}}, metav1.CreateOptions{}))(w.t)
	}
	k := &kubelet{w: w, dir: w.t.TempDir(), pods: map[string]*localPod{}, dns: must.Get(rig.FreePort())(w.t), node: node}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for w.ctx.Err() == nil {
			k.syncPods()
			select {
			case <-w.ctx.Done():
			case <-time.After(200 * time.Millisecond): // a kubelet's sync interval
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

// syncPods runs a pair of processes for each pod, with the current files of its volumes.
func (k *kubelet) syncPods() {
	list, err := k.w.core.CoreV1().Pods(k.w.namespace).List(k.w.ctx, metav1.ListOptions{})
	if err != nil {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	// An unscheduled pod ends at its deletion. A pod of a node answers until the end of preStop.
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
				continue // pods share an address, and run one at a time
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

// keepNewest ends the running pod if there is a newer pod, and drops other pods from the list, except deleted pods.
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

func isFleets(pod *corev1.Pod) bool { return pod.Labels[render.LabelManager] == render.Manager }

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
			continue // bindcar, whose zones exist already
		}
		if container.Name == render.AgentContainer {
			process, arguments = &p.program, append([]string{k.w.program}, arguments...)
		} else {
			// Test machines have few processors.
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
		return nil // not yet unready for a kubelet
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

// probeFailures is the failureThreshold of the fleet's readiness probes.
const probeFailures = 2

// Like a kubelet, without verifying certificates.
var probes = &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}

// A startup probe of the agent runs once for each named, before the readiness probe of the agent's supervisor.
// Without an agent, the probes connect to named.
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

// askAgent translates the hash of localized files to that of the cluster's files.
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

func (k *kubelet) askPod(ctx context.Context, pod *corev1.Pod, server *render.Server) (string, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	p := k.pods[pod.Name]
	if p == nil {
		return "", fmt.Errorf("the pod does not run")
	}
	return k.askAgent(ctx, p, server)
}

func (k *kubelet) askMembers(ctx context.Context, pod *corev1.Pod, server *render.Server) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	p := k.pods[pod.Name]
	if p == nil {
		return errors.New("the pod does not run")
	}
	return fleet.AskMembersAt(ctx, p.agent.String(), server)
}

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

func (k *kubelet) getOnlyPod() *localPod {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, p := range k.pods {
		return p
	}
	return nil
}
