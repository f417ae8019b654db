// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package fleet

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"

	bind9 "kubi.zone/kubizone/api/bind9/v1alpha1"
	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/bind9/fleet"
	"kubi.zone/kubizone/pkg/bind9/fleet/render"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/test/must"
)

func (w *world) listNames(namespace string) []string {
	w.t.Helper()
	list := must.Get(w.kubizone.Bind9V1alpha1().Bind9Instances(namespace).List(w.ctx, metav1.ListOptions{}))(w.t)
	var names []string
	for _, o := range list.Items {
		if o.DeletionTimestamp == nil {
			names = append(names, o.Name)
		}
	}
	slices.Sort(names)
	return names
}

func (w *world) waitNames(namespace string, want ...string) {
	w.t.Helper()
	w.waitUntil(fmt.Sprintf("the instances of %s are %q", namespace, want), func() error {
		if got := w.listNames(namespace); !slices.Equal(got, want) {
			return fmt.Errorf("they are %q", got)
		}
		return nil
	})
}

// TestProvider_makesClustersAndServers_S11_9: the source document's example, a provider of three namespaces with two
// primaries and three secondaries, from creation to deletion.
func TestProvider_makesClustersAndServers_S11_9(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "provided-dns")
	w.runKubelet(w.namespace)
	for _, further := range []string{"provided-web", "provided-api"} {
		must.Get(w.core.CoreV1().Namespaces().Create(w.ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: further}}, metav1.CreateOptions{}))(w.t)
		w.runKubelet(further)
	}
	namespaces := []string{"provided-dns", "provided-api", "provided-web"}
	w.runFleet(nil, namespaces...)
	providers := w.kubizone.Bind9V1alpha1().ClusterBind9Providers()
	must.Get(providers.Create(w.ctx, &bind9.ClusterBind9Provider{
		ObjectMeta: metav1.ObjectMeta{Name: "provided"}, Spec: bind9.ClusterBind9ProviderSpec{
			Namespaces: append(slices.Clone(namespaces), "not-there"),
			Bind9ClusterSpec: bind9.Bind9ClusterSpec{
				Primary: &bind9.RoleSettings{Replicas: 2}, Secondary: &bind9.RoleSettings{Replicas: 3, Labels: map[string]string{"tier": "edge"}},
			},
		},
	}, metav1.CreateOptions{}))(w.t)
	all := []string{"provided-primary-0", "provided-primary-1", "provided-secondary-0", "provided-secondary-1", "provided-secondary-2"}
	for _, namespace := range namespaces {
		w.waitNames(namespace, all...)
	}
	w.waitUntil("every server is ready", func() error {
		provider, err := providers.Get(w.ctx, "provided", metav1.GetOptions{})
		if err != nil {
			return err
		}
		if s := provider.Status.Servers; s.Desired != 15 || s.Ready != 15 {
			return fmt.Errorf("servers: %+v", s)
		}
		return nil
	})
	w.waitProvider("provided", "False/PartiallyReady") // one namespace is missing
	edge := must.Get(w.kubizone.Bind9V1alpha1().Bind9Instances("provided-web").List(w.ctx, metav1.ListOptions{LabelSelector: "tier=edge," + bind9.LabelRole + "=secondary"}))(w.t)
	if len(edge.Items) != 3 {
		t.Errorf("%d secondaries have the labels of their role", len(edge.Items))
	}
	// Each cluster has a single key, different from other clusters'.
	keys := map[string]bool{}
	for _, namespace := range namespaces {
		secret := must.Get(w.core.CoreV1().Secrets(namespace).Get(w.ctx, "provided-tsig", metav1.GetOptions{}))(w.t)
		keys[string(secret.Data["secret"])] = true
	}
	if len(keys) != 3 {
		t.Errorf("%d TSIG keys for three clusters", len(keys))
	}

	// A field of a provider's cluster changed by a user gets the provider's value again.
	must.Get(w.kubizone.Bind9V1alpha1().Bind9Clusters("provided-web").Patch(w.ctx, "provided", types.MergePatchType, []byte(`{"spec":{"version":"9.18","secondary":{"replicas":4}}}`), metav1.PatchOptions{FieldManager: "kubectl-edit"}))(w.t)
	w.waitUntil("the cluster is as the provider says", func() error {
		cluster, err := w.kubizone.Bind9V1alpha1().Bind9Clusters("provided-web").Get(w.ctx, "provided", metav1.GetOptions{})
		if err != nil || cluster.Spec.Version != "" || cluster.Spec.Secondary.Replicas != 3 {
			return fmt.Errorf("%+v %w", cluster.Spec, err)
		}
		return nil
	})

	// The missing namespace is created, another is removed.
	must.Get(w.core.CoreV1().Namespaces().Create(w.ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "not-there"}}, metav1.CreateOptions{}))(w.t)
	w.waitUntil("the missing cluster is made", func() error {
		_, err := w.kubizone.Bind9V1alpha1().Bind9Clusters("not-there").Get(w.ctx, "provided", metav1.GetOptions{})
		return err
	})
	must.Get(providers.Patch(w.ctx, "provided", types.MergePatchType, []byte(`{"spec":{"namespaces":["provided-dns","provided-web"],"secondary":{"replicas":1}}}`), metav1.PatchOptions{}))(w.t)
	w.waitNames("provided-web", "provided-primary-0", "provided-primary-1", "provided-secondary-0")
	w.waitNames("provided-api")
	w.waitNothing("provided-api")
	w.waitUntil("the cluster of team-api is gone", func() error {
		_, err := w.kubizone.Bind9V1alpha1().Bind9Clusters("provided-api").Get(w.ctx, "provided", metav1.GetOptions{})
		if !apierrors.IsNotFound(err) {
			return errStillThere
		}
		return nil
	})

	must.Succeed(w.t, providers.Delete(w.ctx, "provided", metav1.DeleteOptions{}))
	w.waitNoProvider("provided")
	for _, namespace := range append(namespaces, "not-there") {
		if left := append(w.listNames(namespace), w.listMade(namespace)...); len(left) > 0 {
			t.Errorf("%s: left %q", namespace, left)
		}
	}
}

// TestCluster_scalesByTheHighestIndex_S11_9: scaling down removes the highest index first, scaling up adds it last.
// An instance of another owner under that name is left alone.
func TestCluster_scalesByTheHighestIndex_S11_9(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "scales")
	w.runKubelet(w.namespace)
	foreign := w.createInstance("prod-secondary-1", bind9.Bind9InstanceSpec{Role: bind9.RoleSecondary})
	w.runFleet(nil, w.namespace)
	clusters := w.kubizone.Bind9V1alpha1().Bind9Clusters(w.namespace)
	must.Get(clusters.Create(w.ctx, &bind9.Bind9Cluster{ObjectMeta: metav1.ObjectMeta{Name: "prod"}, Spec: bind9.Bind9ClusterSpec{Secondary: &bind9.RoleSettings{Replicas: 3}}}, metav1.CreateOptions{}))(w.t)
	w.waitNames(w.namespace, "prod-secondary-0", "prod-secondary-1", "prod-secondary-2")
	w.waitCluster("prod", bind9.ConditionDegraded, "True/Foreign")
	if now := w.getInstance("prod-secondary-1"); now.UID != foreign.UID || len(now.OwnerReferences) > 0 {
		t.Errorf("the other owner's instance was changed: %+v", now.ObjectMeta)
	}
	must.Succeed(w.t, w.kubizone.Bind9V1alpha1().Bind9Instances(w.namespace).Delete(w.ctx, "prod-secondary-1", metav1.DeleteOptions{}))
	w.waitCluster("prod", bind9.ConditionDegraded, "False")
	budget := must.Get(w.core.PolicyV1().PodDisruptionBudgets(w.namespace).Get(w.ctx, "prod-secondary", metav1.GetOptions{}))(w.t)
	w.waitUntil("the budget selects the pods of all servers", func() error {
		pods, err := w.core.CoreV1().Pods(w.namespace).List(w.ctx, metav1.ListOptions{LabelSelector: metav1.FormatLabelSelector(budget.Spec.Selector)})
		if err != nil || len(pods.Items) < 3 {
			return fmt.Errorf("%d pods: %v", len(pods.Items), err)
		}
		return nil
	})
	scale := func(n int32) {
		t.Helper()
		w.waitUntil("the scale is written", func() error {
			at, err := clusters.GetScale(w.ctx, "prod", metav1.GetOptions{})
			if err != nil {
				return err
			}
			at.Spec.Replicas = n
			_, err = clusters.UpdateScale(w.ctx, "prod", at, metav1.UpdateOptions{})
			return err
		})
	}
	first := w.getInstance("prod-secondary-0").UID
	scale(1)
	w.waitNames(w.namespace, "prod-secondary-0")
	scale(2)
	w.waitNames(w.namespace, "prod-secondary-0", "prod-secondary-1")
	if w.getInstance("prod-secondary-0").UID != first {
		t.Error("the lowest index was made anew")
	}
}

// TestCluster_rotatesItsTSIGKeyInSteps_S11_11: the next key signs once each pod and each primary accepts it, and the
// former key goes once each pod has the next key. No pod is replaced (F3).
func TestCluster_rotatesItsTSIGKeyInSteps_S11_11(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "tsig")
	w.runKubelet(w.namespace)
	at := clocktesting.NewFakeClock(time.Now())
	var refuses atomic.Bool // the primary refuses every key but the first
	refuses.Store(true)
	var answered atomic.Int32 // by the primary, to the next key
	var first render.TransferKeys
	w.runFleetWith(fleet.Config{
		Clock: at, Namespaces: []string{w.namespace},
		Primaries: primaryAt(netip.MustParseAddrPort("10.96.0.53:53")),
		Ask:       w.askLoaded,
		Answers: func(_ context.Context, _ netip.AddrPort, zone name.Name, key render.Key) bool {
			w.mu.Lock()
			defer w.mu.Unlock()
			if key.Name != first.Name && !refuses.Load() {
				answered.Add(1)
			}
			return zone.String() == "tsig.catalog.example." && (key.Name == first.Name || !refuses.Load())
		},
	})
	clusters := w.kubizone.Bind9V1alpha1().Bind9Clusters(w.namespace)
	must.Get(clusters.Create(w.ctx, &bind9.Bind9Cluster{ObjectMeta: metav1.ObjectMeta{Name: "prod"}, Spec: bind9.Bind9ClusterSpec{
		Secondary: &bind9.RoleSettings{Replicas: 2},
		DNSSEC:    &bind9.ClusterDNSSEC{Storage: &bind9.Storage{Type: bind9.StoragePersistentVolumeClaim, Capacity: "1Gi"}},
	}}, metav1.CreateOptions{}))(w.t)
	must.Get(w.kubizone.KubizoneV1alpha1().DNSClasses().Create(w.ctx, &v1alpha1.DNSClass{
		ObjectMeta: metav1.ObjectMeta{Name: "tsig"}, Spec: v1alpha1.DNSClassSpec{
			Namespaces: &v1alpha1.NamespaceSelection{Names: []string{w.namespace}},
			Bind9:      &v1alpha1.Bind9Provider{CatalogZone: "tsig.catalog.example.", ClusterRef: &v1alpha1.Bind9ClusterReference{Namespace: w.namespace, Name: "prod"}},
		},
	}, metav1.CreateOptions{}))(w.t)
	t.Cleanup(func() {
		_ = w.kubizone.KubizoneV1alpha1().DNSClasses().Delete(context.WithoutCancel(w.ctx), "tsig", metav1.DeleteOptions{})
	})
	for _, name := range []string{"prod-secondary-0", "prod-secondary-1", "prod-signer-0"} {
		w.waitInstance(name, bind9.ConditionReady, "True")
	}
	keys := func() render.TransferKeys {
		t.Helper()
		secret := must.Get(w.core.CoreV1().Secrets(w.namespace).Get(w.ctx, render.TransferSecretName("prod"), metav1.GetOptions{}))(w.t)
		keys := must.Get(render.ReadTransferKeys(secret.Annotations, secret.Data))(w.t)
		return keys
	}
	w.mu.Lock()
	first = keys()
	w.mu.Unlock()
	look := func() render.TransferKeys {
		t.Helper()
		patch := fmt.Appendf(nil, `{"metadata":{"annotations":{"nudge":"%d"}}}`, time.Now().UnixNano())
		must.Get(clusters.Patch(w.ctx, "prod", types.MergePatchType, patch, metav1.PatchOptions{}))(w.t)
		return keys()
	}
	wait := func(what string, is func(now render.TransferKeys) bool) render.TransferKeys {
		t.Helper()
		var now render.TransferKeys
		w.waitUntil(what, func() error {
			w.load("prod-secondary-0")
			if now = look(); !is(now) {
				return fmt.Errorf("signs %s, next %v, former %v", now.Name, now.Next != nil, now.Former != nil)
			}
			return nil
		})
		return now
	}
	generation := func() (sum int64) {
		t.Helper()
		for _, name := range []string{"prod-secondary-0", "prod-secondary-1"} {
			deployment := must.Get(w.core.AppsV1().Deployments(w.namespace).Get(w.ctx, name, metav1.GetOptions{}))(w.t)
			sum += deployment.Generation
		}
		return sum
	}
	before := generation()
	// Zones created by agents name the key, which stays while a class has such zones.
	classes := w.kubizone.KubizoneV1alpha1().DNSClasses()
	must.Get(classes.Create(w.ctx, &v1alpha1.DNSClass{
		ObjectMeta: metav1.ObjectMeta{Name: "tsig-agents"}, Spec: v1alpha1.DNSClassSpec{
			Namespaces: &v1alpha1.NamespaceSelection{Names: []string{w.namespace}},
			Bind9:      &v1alpha1.Bind9Provider{Mode: v1alpha1.Bind9ModeTransfer, Primaries: []string{"10.96.0.53:53"}, ClusterRef: &v1alpha1.Bind9ClusterReference{Namespace: w.namespace, Name: "prod"}},
		},
	}, metav1.CreateOptions{}))(w.t)
	must.Get(clusters.Patch(w.ctx, "prod", types.MergePatchType, []byte(`{"spec":{"tsigKey":{"algorithm":"hmac-sha512"}}}`), metav1.PatchOptions{}))(w.t)
	held := w.waitCluster("prod", bind9.ConditionProgressing, "False/RotationHeld")
	why := meta.FindStatusCondition(held.Status.Conditions, bind9.ConditionProgressing).Message
	if !strings.Contains(why, `DNSClass "tsig-agents" has mode Transfer`) {
		t.Errorf("the reason has the message %q", why)
	}
	if now := look(); now.Next != nil || now.Name != first.Name {
		t.Errorf("the key rotates while zones name it: next %v", now.Next)
	}
	must.Succeed(w.t, classes.Delete(w.ctx, "tsig-agents", metav1.DeleteOptions{}))
	must.Get(clusters.Patch(w.ctx, "prod", types.MergePatchType, []byte(`{"spec":{"tsigKey":{"algorithm":"hmac-sha512"}}}`), metav1.PatchOptions{}))(w.t)
	next := wait("the next key is taken", func(now render.TransferKeys) bool { return now.Next != nil }).Next
	if rotating := w.waitCluster("prod", bind9.ConditionProgressing, "True/RotatingKey"); rotating.Status.TSIGKey == nil {
		t.Error("no age of the key")
	}
	stays := func(what string) {
		t.Helper()
		at.Step(2 * time.Minute)
		for range 10 {
			w.load("prod-secondary-0")
			if now := look(); now.Name != first.Name || now.Next == nil || now.Next.Name != next.Name {
				t.Fatalf("%s: signs %s, next %v", what, now.Name, now.Next)
			}
		}
	}
	stays("a pod has not read the next key")
	loadAll := func() { w.load("prod-secondary-0"); w.load("prod-secondary-1") }
	loadAll()
	stays("the primary does not take the next key")
	refuses.Store(false)
	w.waitUntil("the secondaries are looked at, with their cluster in between", func() error {
		if now := look(); now.Next == nil {
			t.Fatal("the next key signs before the signer has it, from which servers transfer signed zones with it")
		}
		if looks := answered.Load(); looks < 8 {
			return fmt.Errorf("%d looks", looks)
		}
		return nil
	})
	stays("the signer has not read the next key")
	wait("the next key signs", func(now render.TransferKeys) bool {
		w.load("prod-secondary-1")
		w.load("prod-signer-0")
		return now.Name == next.Name && now.Former != nil && now.Former.Name == first.Name && now.Next == nil
	})
	loadAll()
	w.load("prod-signer-0")
	at.Step(30 * time.Second)
	if now := look(); now.Former == nil {
		t.Error("the former key went within a minute")
	}
	at.Step(time.Minute)
	wait("the former key goes", func(now render.TransferKeys) bool {
		w.load("prod-secondary-1")
		w.load("prod-signer-0")
		return now.Name == next.Name && now.Next == nil && now.Former == nil
	})
	if generation() != before {
		t.Error("a pod was replaced")
	}
}

// TestSweep_hasBrakes_S11_12: objects of an instance deleted without the finalizer are removed after two live 404s
// ten minutes apart. Objects of another installation stay, and everything stays while the API has no instance (F5).
// TestStories has the share of an hour.
func TestSweep_hasBrakes_S11_12(t *testing.T) {
	w := newWorld(t, "swept")
	w.runKubelet(w.namespace)
	at := clocktesting.NewFakeClock(time.Now())
	w.runFleet(at, w.namespace)
	for _, name := range []string{"stays", "lost"} {
		w.createInstance(name, bind9.Bind9InstanceSpec{Role: bind9.RoleSecondary})
		w.waitInstance(name, bind9.ConditionReady, "True")
	}
	must.Get(w.core.CoreV1().ConfigMaps(w.namespace).Create(w.ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
		Name: "other-installation", Labels: map[string]string{render.LabelManager: render.Manager, render.LabelInstallation: "elsewhere.fleet"}, Annotations: map[string]string{render.AnnotationOwner: "Bind9Instance/never"},
	}}, metav1.CreateOptions{}))(w.t)
	// A store restored from an older backup would lack the instance.
	w.stop()
	instances := w.kubizone.Bind9V1alpha1().Bind9Instances(w.namespace)
	must.Get(instances.Patch(w.ctx, "lost", types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{}))(w.t)
	must.Succeed(w.t, instances.Delete(w.ctx, "lost", metav1.DeleteOptions{}))
	w.runFleet(at, w.namespace)
	left := func() string {
		var of []string
		for _, o := range w.listMade(w.namespace) {
			if strings.HasPrefix(o, "deployments/") {
				of = append(of, strings.TrimPrefix(o, "deployments/"))
			}
		}
		slices.Sort(of)
		return strings.Join(of, " ")
	}
	look := func(steps int) { // a sweep every two minutes
		t.Helper()
		for step := range steps + 1 {
			w.waitUntil("the sweep waits", func() error {
				if at.Waiters() < 2 { // the other waiter asks the agents
					return errors.New("it looks")
				}
				return nil
			})
			if step < steps {
				at.Step(2 * time.Minute)
			}
		}
	}
	look(4)
	if got := left(); got != "lost stays" {
		t.Errorf("after eight minutes: %s", got)
	}
	look(2)
	if got := left(); got != "stays" {
		t.Errorf("after twelve minutes: %s", got)
	}
	for _, o := range w.listMade(w.namespace) {
		if strings.Contains(o, "lost") && !strings.HasPrefix(o, "pods/") {
			t.Errorf("%s is left", o)
		}
	}
	// An empty list more likely means a new store than the end of all servers.
	w.stop()
	list := must.Get(w.kubizone.Bind9V1alpha1().Bind9Instances("").List(w.ctx, metav1.ListOptions{}))(w.t)
	for _, o := range list.Items { // also those of ended tests
		of := w.kubizone.Bind9V1alpha1().Bind9Instances(o.Namespace)
		must.Get(of.Patch(w.ctx, o.Name, types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{}))(w.t)
		if err := of.Delete(w.ctx, o.Name, metav1.DeleteOptions{}); !apierrors.IsNotFound(err) {
			must.Succeed(w.t, err)
		}
	}
	w.runFleet(at, w.namespace)
	look(30)
	if got := left(); got != "stays" {
		t.Errorf("with no instance in the API: %q", got)
	}
}
