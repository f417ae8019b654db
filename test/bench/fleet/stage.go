// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	bind9 "kubi.zone/kubizone/api/bind9/v1alpha1"
	"kubi.zone/kubizone/api/client/clientset/versioned"
	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/test/bench/figures"
	"kubi.zone/kubizone/test/rig"
	"kubi.zone/kubizone/test/rig/kuberig"
)

// stage is everything that runs.
type stage struct {
	plan     plan
	dir      string
	say      func(format string, args ...any)
	kubizone string

	kube    *kuberig.Kube
	server  *kuberig.Server
	core    *kubernetes.Clientset
	ours    *versioned.Clientset
	primary netip.AddrPort
	// processes are fleet, controller and primary, by name.
	processes map[string]*rig.Process

	followers []*follower
	questions atomic.Int64
	mu        sync.Mutex
	// waiting is told of serials that followers have; nil: nothing waits.
	waiting func(f *follower, zone string, serial uint32, at time.Time)
}

// serviceRange has room for two Services of each server. Its addresses are loopback's, so a process can listen at them.
const serviceRange = "127.64.0.0/16"

const (
	providerName = "bench"
	// leaseDuration is longer than usual: a process that loses its Lease on a busy machine ends, and the run with it.
	leaseDuration = "1m"
	// callers make what a run begins with.
	callers = 8
	// waitTimeout bounds every wait for a fact.
	waitTimeout = 30 * time.Minute
)

const auditPolicy = `{"apiVersion":"audit.k8s.io/v1","kind":"Policy","omitStages":["RequestReceived"],"rules":[{"level":"Metadata"}]}`

func (s *stage) namespace(i int) string { return fmt.Sprintf("dns-%03d", i) }

// classes are NAMESPACE/CLUSTER of each class, in order.
func (s *stage) classes() (all []types.NamespacedName) {
	for n := range s.plan.Namespaces {
		for c := range s.plan.Clusters {
			all = append(all, types.NamespacedName{Namespace: s.namespace(n), Name: fmt.Sprintf("%s-%d", providerName, c)})
		}
	}
	return all
}

func className(of types.NamespacedName) string { return of.Namespace + "-" + of.Name }

func (s *stage) start(ctx context.Context) (err error) {
	if s.kubizone = s.plan.Kubizone; s.kubizone == "" {
		if s.kubizone, err = rig.Kubizone(ctx, s.dir, ""); err != nil {
			return err
		}
	}
	policy := filepath.Join(s.dir, "audit.json")
	if err := os.WriteFile(policy, []byte(auditPolicy), 0o600); err != nil {
		return err
	}
	audit := func(server string) []string {
		return []string{"--audit-policy-file", policy, "--audit-log-path", s.auditLog(server)}
	}
	s.kube, err = kuberig.StartKube(ctx, filepath.Join(s.dir, "kube"), kuberig.KubeConfig{
		Controllers: []string{"deployment-controller", "replicaset-controller", "statefulset-controller"},
		Args:        append(audit("kube"), "--service-cluster-ip-range", serviceRange),
		ManagerArgs: []string{"--kube-api-qps", "1000", "--kube-api-burst", "1000"},
	})
	if err != nil {
		return err
	}
	kubeconfig, err := s.kube.Delegate(ctx)
	if err != nil {
		return err
	}
	if s.server, err = kuberig.StartServer(ctx, filepath.Join(s.dir, "server"), kuberig.ServerConfig{Program: s.kubizone, Kube: s.kube, Kubeconfig: kubeconfig, Args: audit("kubizone")}); err != nil {
		return err
	}
	if err := s.kube.Aggregate(ctx, s.server.Addr, s.kube.ClusterCA.PEM); err != nil {
		return err
	}
	if _, _, err := s.kube.WaitAvailable(ctx, true); err != nil {
		return err
	}
	admin := s.kube.Admin()
	admin.QPS, admin.UserAgent, admin.WarningHandler = -1, "bench", rest.NoWarnings{}
	if s.core, err = kubernetes.NewForConfig(admin); err != nil {
		return err
	}
	if s.ours, err = versioned.NewForConfig(admin); err != nil {
		return err
	}
	if err := s.until(ctx, "both groups are served", func() (bool, error) {
		_, err := s.ours.Bind9V1alpha1().Bind9Instances("").List(ctx, metav1.ListOptions{})
		return err == nil, nil
	}); err != nil {
		return err
	}
	if err := s.kube.StartControllerManager(ctx); err != nil {
		return err
	}
	if s.primary, err = rig.FreePort(); err != nil {
		return err
	}
	go s.runPods(ctx)
	s.processes = map[string]*rig.Process{}
	for name, flags := range map[string][]string{
		"primary":    {"--dns-listen", s.primary.String(), "--transfer-allow", "127.0.0.0/8"},
		"controller": {"--lease", "default/controller", "--lease-duration", leaseDuration},
	} {
		if err := s.run(name, flags...); err != nil {
			return err
		}
	}
	return s.runFleet()
}

func (s *stage) auditLog(server string) string { return filepath.Join(s.dir, "audit-"+server+".log") }

func (s *stage) run(name string, flags ...string) (err error) {
	dir := filepath.Join(s.dir, name)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	s.processes[name], err = rig.StartProcess(nil, dir, s.kubizone, append([]string{name, "--kubeconfig", s.kube.AdminKubeconfig(), "--health-listen", "127.0.0.1:0"}, flags...)...)
	return err
}

func (s *stage) runFleet() error {
	return s.run("fleet", "--server-namespace", "*", "--agent-image", "registry.example/kubizone:v0", "--primary", s.primary.String(), "--lease", "default/fleet", "--lease-duration", leaseDuration)
}

func (s *stage) close() {
	for _, f := range s.followers {
		f.stop()
	}
	for _, process := range s.processes {
		process.End()
	}
	if s.server != nil {
		s.server.Close()
	}
	if s.kube != nil {
		s.kube.Close()
	}
}

// runPods has each pod be ready as soon as it is there: there is no kubelet.
func (s *stage) runPods(ctx context.Context) {
	for ctx.Err() == nil {
		watch, err := s.core.CoreV1().Pods("").Watch(ctx, metav1.ListOptions{})
		if err != nil {
			continue
		}
		for event := range watch.ResultChan() {
			if pod, ok := event.Object.(*corev1.Pod); ok {
				s.runPod(ctx, pod)
			}
		}
	}
}

func (s *stage) runPod(ctx context.Context, pod *corev1.Pod) {
	if pod.DeletionTimestamp != nil {
		none := int64(0)
		_ = s.core.CoreV1().Pods(pod.Namespace).Delete(ctx, pod.Name, metav1.DeleteOptions{GracePeriodSeconds: &none})
		return
	}
	if pod.Status.Phase == corev1.PodRunning {
		return
	}
	status, _ := json.Marshal(map[string]any{"status": map[string]any{
		"phase": "Running", "podIP": "192.0.2.1", "podIPs": []map[string]string{{"ip": "192.0.2.1"}},
		"conditions": []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Now()}},
	}})
	if _, err := s.core.CoreV1().Pods(pod.Namespace).Patch(ctx, pod.Name, types.MergePatchType, status, metav1.PatchOptions{}, "status"); err != nil && !apierrors.IsNotFound(err) && ctx.Err() == nil {
		s.say("pod %s: %v", pod.Name, err)
	}
}

// makeServers makes the clusters and waits until each server is ready.
func (s *stage) makeServers(ctx context.Context) error {
	for n := range s.plan.Namespaces {
		if err := s.kube.Namespace(ctx, s.namespace(n)); err != nil {
			return err
		}
	}
	spec := bind9.Bind9ClusterSpec{
		ServerSettings: bind9.ServerSettings{ZoneNamespaces: &bind9.NamespaceSelection{Selector: &metav1.LabelSelector{}}},
		Secondary:      &bind9.RoleSettings{Replicas: int32(s.plan.Servers)},
	}
	for _, at := range s.classes() {
		if _, err := s.ours.Bind9V1alpha1().Bind9Clusters(at.Namespace).Create(ctx, &bind9.Bind9Cluster{ObjectMeta: metav1.ObjectMeta{Name: at.Name}, Spec: spec}, metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	return s.until(ctx, "all clusters are ready", func() (bool, error) {
		list, err := s.ours.Bind9V1alpha1().Bind9Clusters("").List(ctx, metav1.ListOptions{})
		if err != nil {
			return false, err
		}
		ready := int32(0)
		for i := range list.Items {
			ready += list.Items[i].Status.Secondaries.Ready
		}
		s.say("%d servers are ready, load %s", ready, figures.LoadAverage())
		return ready == int32(len(list.Items)*s.plan.Servers), nil
	})
}

func hasAny[T any](items []T, is func(*T) bool) bool {
	for i := range items {
		if is(&items[i]) {
			return true
		}
	}
	return false
}

// startFollowers has a follower answer at the address of each server, with the key of its cluster.
func (s *stage) startFollowers(ctx context.Context) error {
	for _, at := range s.classes() {
		secret, err := s.core.CoreV1().Secrets(at.Namespace).Get(ctx, at.Name+"-tsig", metav1.GetOptions{})
		if err != nil {
			return err
		}
		key := string(secret.Data["name"]) + "."
		list, err := s.ours.Bind9V1alpha1().Bind9Instances(at.Namespace).List(ctx, metav1.ListOptions{LabelSelector: bind9.LabelCluster + "=" + at.Name})
		if err != nil {
			return err
		}
		for i := range list.Items {
			f := &follower{
				name: list.Items[i].Name, primary: s.primary.String(), key: key, secret: map[string]string{key: secretText(secret.Data["secret"])}, asked: &s.questions,
				came: func(f *follower, zone string, serial uint32, when time.Time) {
					s.mu.Lock()
					defer s.mu.Unlock()
					if s.waiting != nil {
						s.waiting(f, zone, serial, when)
					}
				},
			}
			if f.at, err = netip.ParseAddrPort(list.Items[i].Status.Addresses[0]); err != nil {
				return err
			}
			if err := f.start(); err != nil {
				return err
			}
			s.followers = append(s.followers, f)
		}
	}
	return nil
}

// secretText is a secret in base64, whether the Secret has it so or raw.
func secretText(secret []byte) string {
	if _, err := base64.StdEncoding.DecodeString(string(secret)); err == nil {
		return string(secret)
	}
	return base64.StdEncoding.EncodeToString(secret)
}

// makeZones makes classes and zones and waits until each zone is ready.
func (s *stage) makeZones(ctx context.Context) error {
	const namespace = "zones"
	if err := s.kube.Namespace(ctx, namespace); err != nil {
		return err
	}
	// The servers are measured, and not the budget of one namespace (S9).
	unlimited := []byte(`{"metadata":{"annotations":{"kubi.zone/budget":"stored=unlimited,written=unlimited"}}}`)
	if _, err := s.core.CoreV1().Namespaces().Patch(ctx, namespace, types.MergePatchType, unlimited, metav1.PatchOptions{}); err != nil {
		return err
	}
	classes := s.classes()
	for _, at := range classes {
		if _, err := s.ours.KubizoneV1alpha1().DNSClasses().Create(ctx, &v1alpha1.DNSClass{ObjectMeta: metav1.ObjectMeta{Name: className(at)}, Spec: v1alpha1.DNSClassSpec{
			Namespaces: &v1alpha1.NamespaceSelection{Names: []string{namespace}}, AllowLocalAddresses: true,
			Bind9: &v1alpha1.Bind9Provider{ClusterRef: &v1alpha1.Bind9ClusterReference{Namespace: at.Namespace, Name: at.Name}, CatalogZone: className(at) + ".catalog.example."},
		}}, metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	zones := s.ours.KubizoneV1alpha1().Zones(namespace)
	if _, _, err := figures.Callers(ctx, callers, len(classes)*s.plan.Zones, func(ctx context.Context, i int) error {
		_, err := zones.Create(ctx, &v1alpha1.Zone{ObjectMeta: metav1.ObjectMeta{Name: zoneName(i)}, Spec: v1alpha1.ZoneSpec{
			DomainName: zoneName(i) + ".example.", DNSClassRefs: []v1alpha1.DNSClassReference{{Name: className(classes[i/s.plan.Zones])}}, NameServers: []v1alpha1.NameServer{{Name: "ns.example.net."}},
		}}, metav1.CreateOptions{})
		return err
	}); err != nil {
		return err
	}
	return s.waitReady(ctx)
}

func zoneName(i int) string { return fmt.Sprintf("z%05d", i) }

func (s *stage) waitReady(ctx context.Context) error {
	return s.until(ctx, "every zone is ready", func() (bool, error) {
		list, err := s.ours.KubizoneV1alpha1().Zones("zones").List(ctx, metav1.ListOptions{})
		if err != nil {
			return false, err
		}
		left := 0
		for i := range list.Items {
			if !isReady(list.Items[i].Status.Conditions) {
				left++
			}
		}
		if left > 0 {
			s.say("%d zones are not ready, load %s", left, figures.LoadAverage())
		}
		return left == 0, nil
	})
}

func isReady(conditions []metav1.Condition) bool {
	return hasAny(conditions, func(c *metav1.Condition) bool {
		return c.Type == v1alpha1.ConditionReady && c.Status == metav1.ConditionTrue
	})
}

// until asks every second whether it is so, less often where the answer takes its time: what is measured must not be
// the questions.
func (s *stage) until(ctx context.Context, what string, is func() (bool, error)) error {
	ctx, cancel := context.WithTimeoutCause(ctx, waitTimeout, fmt.Errorf("not so within %s: %s", waitTimeout, what))
	defer cancel()
	for {
		began := time.Now()
		ok, err := is()
		if ok || err != nil {
			return err
		}
		took := time.Since(began)
		for name, process := range s.processes {
			select {
			case <-process.Ended():
				return fmt.Errorf("%s has ended: %s", name, process.Log())
			default:
			}
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(max(time.Second, 10*took)):
		}
	}
}
