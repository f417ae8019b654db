// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package noderig

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	discoverylisters "k8s.io/client-go/listers/discovery/v1"
	"k8s.io/client-go/tools/cache"

	"kubi.zone/kubizone/test/rig/kuberig"
)

const nodeName = "node"

// KubeConfig lets pods reach kube-apiserver, with workload controllers.
func KubeConfig() kuberig.KubeConfig {
	return kuberig.KubeConfig{
		ControllerManager: true,
		Controllers:       []string{"deployment-controller", "replicaset-controller", "statefulset-controller", "endpointslice-controller"},
		Args:              []string{"--bind-address=0.0.0.0", "--advertise-address=" + Host, "--endpoint-reconciler-type=lease", "--service-cluster-ip-range=" + serviceRange},
	}
}

type Node struct {
	ctx  context.Context
	core kubernetes.Interface
	fail func(error)

	pods     corelisters.PodLister
	secrets  corelisters.SecretLister
	configs  corelisters.ConfigMapLister
	services corelisters.ServiceLister
	slices   discoverylisters.EndpointSliceLister

	mu      sync.Mutex
	running map[types.UID]*pod
	placed  int
	all     []*pod
	// variables are further ones of containers that start, by NAMESPACE/CONTAINER.
	variables map[string][]string

	left sync.Map // of namespaces
}

// StartNode runs the pods of a cluster with KubeConfig until ctx ends.
func StartNode(ctx context.Context, kube *kuberig.Kube, fail func(error)) (*Node, error) {
	if errAbsent != nil {
		return nil, errAbsent
	}
	core, err := kube.Clients()
	if err != nil {
		return nil, err
	}
	n := &Node{ctx: ctx, core: core, fail: fail, running: map[types.UID]*pod{}, variables: map[string][]string{}}
	ready := corev1.NodeCondition{Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "KubeletReady", LastHeartbeatTime: metav1.Now(), LastTransitionTime: metav1.Now()}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: nodeName, Labels: map[string]string{corev1.LabelHostname: nodeName}}}
	if node, err = core.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{}); err != nil {
		return nil, err
	}
	node.Status = corev1.NodeStatus{Conditions: []corev1.NodeCondition{ready}, Addresses: []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: Host}}}
	if _, err = core.CoreV1().Nodes().UpdateStatus(ctx, node, metav1.UpdateOptions{}); err != nil {
		return nil, err
	}
	all := informers.NewSharedInformerFactory(core, 0)
	n.pods, n.secrets, n.configs = all.Core().V1().Pods().Lister(), all.Core().V1().Secrets().Lister(), all.Core().V1().ConfigMaps().Lister()
	n.services, n.slices = all.Core().V1().Services().Lister(), all.Discovery().V1().EndpointSlices().Lister()
	runs := func(o any) {
		if pod, ok := o.(*corev1.Pod); ok {
			n.runPod(pod)
		}
	}
	if _, err := all.Core().V1().Pods().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: runs}); err != nil {
		return nil, err
	}
	changed := make(chan struct{}, 1)
	note := func(any) {
		select {
		case changed <- struct{}{}:
		default:
		}
	}
	reported := cache.ResourceEventHandlerFuncs{AddFunc: note, UpdateFunc: func(_, o any) { note(o) }, DeleteFunc: note}
	for _, of := range []cache.SharedIndexInformer{all.Core().V1().Services().Informer(), all.Discovery().V1().EndpointSlices().Informer()} {
		if _, err := of.AddEventHandler(reported); err != nil {
			return nil, err
		}
	}
	all.StartWithContext(ctx)
	if err := n.serveNames(); err != nil {
		return nil, err
	}
	go n.translateServices(changed)
	return n, nil
}

func (n *Node) runPod(object *corev1.Pod) {
	if object.Status.Phase == corev1.PodSucceeded || object.Status.Phase == corev1.PodFailed || n.hasLeft(object.Namespace) {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.running[object.UID] != nil {
		return
	}
	n.placed++
	p := &pod{
		node: n, object: object, network: fmt.Sprintf("pod%d", n.placed), ip: fmt.Sprintf("10.244.%d.%d", n.placed/250, n.placed%250+1),
		dir: filepath.Join(here.Dir, "pods", fmt.Sprintf("%s_%s_%d", object.Namespace, object.Name, n.placed)), volumes: map[string]string{}, tokens: map[string]string{},
	}
	for i := range object.Spec.Containers {
		p.containers = append(p.containers, &container{pod: p, spec: &object.Spec.Containers[i], stop: make(chan struct{}), stopped: make(chan struct{})})
	}
	n.running[object.UID] = p
	n.all = append(n.all, p)
	go func() {
		if err := p.runPod(); err != nil {
			n.reportFailure(fmt.Errorf("pod %s/%s: %w", object.Namespace, object.Name, err))
		}
		n.mu.Lock()
		defer n.mu.Unlock()
		delete(n.running, object.UID)
	}()
}

// Leave ends the pods of a namespace, and runs none that it has later.
func (n *Node) Leave(namespace string) { n.left.Store(namespace, true) }

func (n *Node) hasLeft(namespace string) bool {
	_, left := n.left.Load(namespace)
	return left
}

// SetEnvironment replaces variables, as KEY=value, that a namespace's containers of a name have beside their spec's.
func (n *Node) SetEnvironment(namespace, container string, variables ...string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.variables[namespace+"/"+container] = variables
}

func (n *Node) reportFailure(err error) {
	if n.ctx.Err() == nil {
		n.fail(err)
	}
}

func (n *Node) findPods(namespace, prefix string) (found []*pod) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, p := range n.all {
		if p.object.Namespace == namespace && strings.HasPrefix(p.object.Name, prefix) {
			found = append(found, p)
		}
	}
	return found
}

func (n *Node) Logs(namespace, prefix string) map[string]string {
	logs := map[string]string{}
	for _, p := range n.findPods(namespace, prefix) {
		for _, c := range p.containers {
			logs[p.object.Name+"/"+c.spec.Name] = c.readLog()
		}
	}
	return logs
}

// Execute is `kubectl exec` in the newest pod with a name prefix.
func (n *Node) Execute(ctx context.Context, namespace, prefix, name string, arguments ...string) (string, error) {
	found := n.findPods(namespace, prefix)
	if len(found) == 0 {
		return "", fmt.Errorf("namespace %s has no pod %s", namespace, prefix)
	}
	for _, c := range found[len(found)-1].containers {
		if c.spec.Name != name {
			continue
		}
		command, err := c.makeCommand(arguments)
		if err != nil {
			return "", err
		}
		var out strings.Builder
		command.Stdout, command.Stderr = &out, &out
		if err := c.pod.inNetwork(command.Start); err != nil {
			return "", err
		}
		defer context.AfterFunc(ctx, func() { command.Process.Kill() })()
		err = command.Wait()
		if ended := (*exec.ExitError)(nil); errors.As(err, &ended) {
			err = fmt.Errorf("%q in %s/%s: %w\n%s", arguments, namespace, c.pod.object.Name, err, &out)
		}
		return out.String(), err
	}
	return "", fmt.Errorf("pod %s/%s has no container %s", namespace, found[len(found)-1].object.Name, name)
}

// Processes returns ids of a container's processes, in the newest pod with a name prefix.
func (n *Node) Processes(namespace, prefix, name string) ([]int, error) {
	found := n.findPods(namespace, prefix)
	for _, p := range found[max(0, len(found)-1):] {
		for _, c := range p.containers {
			c.mu.Lock()
			process := c.process
			c.mu.Unlock()
			if c.spec.Name != name || process == nil {
				continue
			}
			all := []int{process.Pid()}
			threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", process.Pid()))
			for _, thread := range threads {
				children, err := os.ReadFile(thread)
				if err != nil {
					continue
				}
				for _, child := range strings.Fields(string(children)) {
					id, err := strconv.Atoi(child)
					if err != nil {
						return nil, err
					}
					all = append(all, id)
				}
			}
			return all, err
		}
	}
	return nil, fmt.Errorf("no container %s runs in a pod %s/%s", name, namespace, prefix)
}
