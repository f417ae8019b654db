// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package noderig

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
)

const look = 200 * time.Millisecond

type pod struct {
	node             *Node
	object           *corev1.Pod
	network, ip, dir string
	containers       []*container
	volumes          map[string]string
	tokens           map[string]string // by volume and path
	shown            corev1.PodStatus
}

func (p *pod) runPod() error {
	if err := p.checkSpec(); err != nil {
		return err
	}
	if err := p.placePod(); err != nil {
		return err
	}
	defer p.releaseMounts()
	tick := time.NewTicker(look)
	defer tick.Stop()
	started := false
	for {
		now, err := p.node.pods.Pods(p.object.Namespace).Get(p.object.Name)
		switch {
		case apierrors.IsNotFound(err) || err == nil && now.UID != p.object.UID || p.node.hasLeft(p.object.Namespace):
			p.endContainers(0, started) // as after a deletion by force
			return nil
		case err != nil:
			return err
		case now.DeletionTimestamp != nil:
			return p.terminatePod(time.Duration(ptr.Deref(now.DeletionGracePeriodSeconds, 30))*time.Second, started)
		}
		// A missing object keeps the pod waiting. A running pod keeps old files.
		if err := p.syncVolumes(); err != nil && !errors.As(err, new(*missing)) {
			return err
		} else if err == nil && !started {
			started = true
			for _, c := range p.containers {
				go c.superviseProcess()
			}
		}
		if err := p.showStatus(started); err != nil {
			return err
		}
		select {
		case <-p.node.ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// checkSpec refuses fields that the node ignores but processes would notice.
func (p *pod) checkSpec() error {
	spec := &p.object.Spec
	if len(spec.InitContainers)+len(spec.EphemeralContainers)+len(spec.HostAliases) > 0 || spec.HostNetwork || spec.HostPID || spec.HostIPC || spec.DNSConfig != nil {
		return errors.New("noderig has no init containers, host aliases, host namespaces and DNS configuration")
	}
	for i := range spec.Containers {
		c := &spec.Containers[i]
		if hooks := c.Lifecycle; hooks != nil && (hooks.PostStart != nil || hooks.PreStop != nil && hooks.PreStop.Sleep == nil) {
			return fmt.Errorf("container %s: noderig has no hook but a preStop that sleeps", c.Name)
		}
		if len(c.EnvFrom) > 0 || c.WorkingDir != "" {
			return fmt.Errorf("container %s: noderig has no envFrom and workingDir", c.Name)
		}
		for _, mount := range c.VolumeMounts {
			if mount.SubPathExpr != "" {
				return fmt.Errorf("container %s: noderig has no subPathExpr", c.Name)
			}
		}
		if user, _, _ := userOf(spec, c); user == 0 {
			return fmt.Errorf("container %s: noderig runs nothing as root", c.Name)
		}
	}
	return nil
}

func userOf(spec *corev1.PodSpec, c *corev1.Container) (user, group uint32, further []uint32) {
	pod, own := ptr.Deref(spec.SecurityContext, corev1.PodSecurityContext{}), ptr.Deref(c.SecurityContext, corev1.SecurityContext{})
	user = uint32(ptr.Deref(own.RunAsUser, ptr.Deref(pod.RunAsUser, 0)))
	group = uint32(ptr.Deref(own.RunAsGroup, ptr.Deref(pod.RunAsGroup, 0)))
	if pod.FSGroup != nil {
		further = append(further, uint32(*pod.FSGroup))
	}
	for _, one := range pod.SupplementalGroups {
		further = append(further, uint32(one))
	}
	return user, group, further
}

func (p *pod) placePod() error {
	pods := p.node.core.CoreV1().Pods(p.object.Namespace)
	if p.object.Spec.NodeName == "" {
		err := pods.Bind(p.node.ctx, &corev1.Binding{
			ObjectMeta: metav1.ObjectMeta{Name: p.object.Name, Namespace: p.object.Namespace, UID: p.object.UID}, Target: corev1.ObjectReference{Kind: "Node", Name: nodeName},
		}, metav1.CreateOptions{})
		if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
			return err
		}
	}
	if err := os.MkdirAll(p.dir, 0o755); err != nil {
		return err
	}
	outside := "v" + p.network
	if err := setNetwork("", "netns add "+p.network, "link add "+outside+" type veth peer name eth0 netns "+p.network,
		"link set "+outside+" up", "route add "+p.ip+"/32 dev "+outside+" src "+Host); err != nil {
		return err
	}
	return setNetwork(p.network, "link set lo up", "link set eth0 up", "addr add "+p.ip+"/32 dev eth0",
		"route add "+gateway+" dev eth0 scope link", "route add default via "+gateway+" dev eth0")
}

func (p *pod) inNetwork(do func() error) error {
	network, err := os.Open(filepath.Join("/run/netns", p.network))
	if err != nil {
		return err
	}
	defer network.Close()
	runtime.LockOSThread()
	original, err := os.Open("/proc/thread-self/ns/net")
	if err == nil {
		defer original.Close()
		err = unix.Setns(int(network.Fd()), unix.CLONE_NEWNET)
	}
	if err != nil {
		runtime.UnlockOSThread()
		return err
	}
	failed := do()
	if err := unix.Setns(int(original.Fd()), unix.CLONE_NEWNET); err != nil {
		return errors.Join(failed, err) // the thread ends with the goroutine: no other gets its namespace
	}
	runtime.UnlockOSThread()
	return failed
}

func (p *pod) terminatePod(grace time.Duration, started bool) error {
	p.endContainers(grace, started)
	none := int64(0)
	err := p.node.core.CoreV1().Pods(p.object.Namespace).Delete(p.node.ctx, p.object.Name, metav1.DeleteOptions{GracePeriodSeconds: &none, Preconditions: &metav1.Preconditions{UID: &p.object.UID}})
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	return err
}

func (p *pod) endContainers(grace time.Duration, started bool) {
	if !started {
		return
	}
	ctx, cancel := context.WithTimeout(p.node.ctx, grace)
	defer cancel()
	var all sync.WaitGroup
	for _, c := range p.containers {
		all.Go(func() { c.endProcess(ctx) })
	}
	all.Wait()
}

func (p *pod) releaseMounts() {
	for _, c := range p.containers {
		c.unmountAll()
	}
	_ = setNetwork("", "netns del "+p.network) // with both ends of the veth pair, and the route
}

func (p *pod) showStatus(started bool) error {
	status := corev1.PodStatus{Phase: corev1.PodPending, HostIP: Host, HostIPs: []corev1.HostIP{{IP: Host}}}
	ready := corev1.ConditionFalse
	if started {
		status.Phase, status.PodIP, status.PodIPs = corev1.PodRunning, p.ip, []corev1.PodIP{{IP: p.ip}}
		ready = corev1.ConditionTrue
	}
	for _, c := range p.containers {
		one := c.readStatus()
		if !one.Ready {
			ready = corev1.ConditionFalse
		}
		status.ContainerStatuses = append(status.ContainerStatuses, one)
	}
	for of, is := range map[corev1.PodConditionType]corev1.ConditionStatus{
		corev1.PodScheduled: corev1.ConditionTrue, corev1.PodInitialized: corev1.ConditionTrue, corev1.ContainersReady: ready, corev1.PodReady: ready,
	} {
		condition := corev1.PodCondition{Type: of, Status: is, LastTransitionTime: metav1.Now()}
		if at := slices.IndexFunc(p.shown.Conditions, func(c corev1.PodCondition) bool { return c.Type == of && c.Status == is }); at >= 0 {
			condition = p.shown.Conditions[at]
		}
		status.Conditions = append(status.Conditions, condition)
	}
	slices.SortFunc(status.Conditions, func(a, b corev1.PodCondition) int { return slices.Compare([]byte(a.Type), []byte(b.Type)) })
	if reflect.DeepEqual(status, p.shown) {
		return nil
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": p.object.UID}, "status": status})
	if err != nil {
		return err
	}
	if _, err := p.node.core.CoreV1().Pods(p.object.Namespace).Patch(p.node.ctx, p.object.Name, types.MergePatchType, patch, metav1.PatchOptions{}, "status"); err != nil {
		if apierrors.IsNotFound(err) || apierrors.IsConflict(err) || p.node.ctx.Err() != nil {
			return nil
		}
		return err
	}
	p.shown = status
	return nil
}
