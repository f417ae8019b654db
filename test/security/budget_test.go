// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package security

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/rig/alertrig"
)

// 72: S5.10. Each write of a record writes its zone, so the zone's owner must not be able to make it large, by any
// field.
func largeObjects(t *testing.T, a *arena) {
	ctx := within(t, waitTimeout)
	owner := a.tenants[platform]
	must.Get(owner.zones().Create(ctx, makeZone(platform, "wide", "wide.example.", makeRule(platform, nil, "*")), metav1.CreateOptions{}))(
		t)
	patch := func(kind types.PatchType, body string, options metav1.PatchOptions) error {
		_, err := owner.zones().Patch(ctx, "wide", kind, []byte(body), options)
		return err
	}
	expect := func(what string, err error, parts ...string) {
		t.Helper()
		expectRefusal(t, what, err, invalid)
		for _, part := range append(parts, " octets when stored, and the limit is ", "S5.10") {
			if err != nil && !strings.Contains(err.Error(), part) {
				t.Errorf("%s: %q is not in %.500s", what, part, err)
			}
		}
	}
	var rules []string
	for i := range 900 {
		rules = append(rules, fmt.Sprintf(`{"namespace":%q,"records":[{"pattern":"%05d%s.%s"}]}`, platform, i, strings.Repeat("a", 50), strings.Repeat("b", 60)))
	}
	expect("130 KB of rules", patch(types.MergePatchType, `{"spec":{"delegations":[`+strings.Join(rules, ",")+`]}}`, metav1.PatchOptions{}), "spec: Too long", "65536", "child zones")
	expect("100 KB of annotations", patch(types.MergePatchType, `{"metadata":{"annotations":{"a":"`+strings.Repeat("x", 100_000)+`"}}}`, metav1.PatchOptions{}), "metadata: Too long", "annotations")
	var labels []string
	for i := range 150 {
		labels = append(labels, fmt.Sprintf("%q:\"x\"", fmt.Sprintf("l%03d%s", i, strings.Repeat("l", 50))))
	}
	var err error
	for i := range 40 { // each owns the same fields under a different name
		if err = patch(types.ApplyPatchType, fmt.Sprintf(`{"apiVersion":"kubi.zone/v1alpha1","kind":"Zone","metadata":{"name":"wide","labels":{%s}},"spec":{"domainName":"wide.example."}}`, strings.Join(labels, ",")),
			metav1.PatchOptions{FieldManager: fmt.Sprintf("manager-%d", i)}); err != nil {
			break
		}
	}
	expect("forty managers of the same fields", err, "metadata.managedFields: Too long", "fewer field managers")
	is := must.Get(owner.zones().Get(ctx, "wide", metav1.GetOptions{}))(t)
	if n := is.Size(); n > 96<<10 {
		t.Errorf("the Zone takes %d octets", n)
	}
	// An object of that size may stay, and be deleted.
	if err := patch(types.MergePatchType, `{"spec":{"ttl":77}}`, metav1.PatchOptions{FieldManager: "manager-0"}); err != nil {
		t.Errorf("a change of the same size: %v", err)
	}
	if err := patch(types.MergePatchType, `{"metadata":{"managedFields":[{}]}}`, metav1.PatchOptions{}); err != nil {
		t.Errorf("managers are forgotten: %v", err)
	}
	large := makeRecord(platform, "large", "large.wide.example.", "TXT")
	for i := range 20 {
		large.Spec.Values = append(large.Spec.Values, fmt.Sprint(i)+strings.Repeat(`\200`, 1000))
	}
	large.Annotations = map[string]string{"a": strings.Repeat("x", 100_000)}
	_, err = owner.records().Create(ctx, large, metav1.CreateOptions{})
	expect("a record of 180 KB", err, "metadata: Too long")
}

const glutton = "glutton"

// 73: S9. A tenant stores and writes only the octets of its budgets, by any way; others are served.
func octetsOfATenant(t *testing.T, a *arena) {
	ctx := within(t, waitTimeout)
	must.Succeed(t, a.joinTenant(ctx, glutton))
	them, calm := a.tenants[glutton], a.tenants[victim]
	admin := must.Get(a.kube.Clients())(t)
	foreign := must.Get(kubernetes.NewForConfig(them.config))(t)
	budget := func(clients *kubernetes.Clientset, text string) error {
		_, err := clients.CoreV1().Namespaces().Patch(ctx, glutton, types.MergePatchType, fmt.Appendf(nil, `{"metadata":{"annotations":{"kubi.zone/budget":%q}}}`, text), metav1.PatchOptions{})
		return err
	}
	expectRefusal(t, "the tenant raises its own budget", budget(foreign, "stored=unlimited,written=unlimited"), forbidden)
	must.Succeed(t, budget(admin, "stored=1Mi,written=unlimited"))
	own := makeZone(glutton, "own", "glutton.example.", makeRule(glutton, nil, "*"))
	until(ctx, t, "the glutton's zone", func() error {
		_, err := them.zones().Create(ctx, own, metav1.CreateOptions{})
		return err
	})
	until(ctx, t, "the annotation is known", func() error {
		if of := a.readFigure(ctx, t, "kubizone_namespace_stored_limit_bytes", glutton); of != 1<<20 {
			return fmt.Errorf("the limit is %.0f", of)
		}
		return nil
	})

	// Stored: by values, annotations and managers, held by finalizers.
	fat := func(name string) *v1alpha1.Record {
		r := makeRecord(glutton, name, name+".glutton.example.", "TXT")
		for i := range 10 {
			r.Spec.Values = append(r.Spec.Values, fmt.Sprint(i)+strings.Repeat("x", 3900))
		}
		r.Annotations, r.Finalizers = map[string]string{"a": strings.Repeat("x", 30_000)}, []string{"glutton.example/held"}
		return r
	}
	var err error
	made := 0
	for ; err == nil && made < 100; made++ {
		if _, err = them.records().Create(ctx, fat(fmt.Sprintf("fat-%d", made)), metav1.CreateOptions{}); err == nil {
			err = them.records().Delete(ctx, fmt.Sprintf("fat-%d", made), metav1.DeleteOptions{}) // blocked by the finalizer
		}
	}
	expectRefusal(t, "more than is stored", err, forbidden)
	if err == nil || !strings.Contains(err.Error(), "the limit is 1.0 MiB") || made > 20 {
		t.Errorf("%d records of 70 KB: %v", made, err)
	}
	dry := fat("dry")
	_, err = them.records().Create(ctx, dry, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	expectRefusal(t, "more than is stored, as a dry run", err, forbidden)
	if has := a.readFigure(ctx, t, "kubizone_namespace_stored_bytes", glutton); has > 1.2*(1<<20) || has < 0.8*(1<<20) {
		t.Errorf("the metric says that %.0f octets are stored", has)
	}
	full := alertrig.Series{}
	full.AddScrape("kubizone-apiserver", "server", a.readMetrics(ctx, t))
	alertrig.State{Now: full}.ExpectOf(t, "KubizoneNamespaceNearBudget", "KubizoneNamespaceNearBudget "+glutton)
	for i := range made {
		_, err := them.records().Patch(ctx, fmt.Sprintf("fat-%d", i), types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			t.Errorf("the finalizer of fat-%d: %v", i, err)
		}
	}

	// Written: changes that shrink and grow in turns, metadata, forbidden status writes, in small writes.
	must.Succeed(t, budget(admin, "written=16Ki"))
	until(ctx, t, "the annotation is known", func() error {
		if of := a.readFigure(ctx, t, "kubizone_namespace_written_limit_bytes", glutton); of != 60*16<<10 {
			_ = them.putRecord(ctx, "small", "small.glutton.example.", "A", "192.0.2.1") // the metric names only writing namespaces
			return fmt.Errorf("the limit is %.0f", of)
		}
		return nil
	})
	ways := []string{`{"spec":{"values":["%d"]}}`, `{"metadata":{"annotations":{"a":"%d"}}}`, `{"metadata":{"annotations":{"a":"%d` + strings.Repeat("x", 50_000) + `"}}}`, `{"metadata":{"annotations":null}}`}
	if err := them.putRecord(ctx, "turns", "turns.glutton.example.", "TXT", "0"); err != nil && !apierrors.IsTooManyRequests(err) {
		t.Fatal(err)
	}
	write := func(n int) error {
		return them.RESTClient().Patch(types.MergePatchType).Namespace(glutton).Resource("records").Name("turns").
			Body([]byte(strings.ReplaceAll(ways[n%len(ways)], "%d", strconv.Itoa(n)))).MaxRetries(0).Do(ctx).Error()
	}
	err = nil
	writes := 0
	for ; err == nil && writes < 1000; writes++ {
		err = write(writes)
	}
	status, _ := err.(apierrors.APIStatus)
	if !apierrors.IsTooManyRequests(err) || status.Status().Details == nil || status.Status().Details.RetryAfterSeconds < 1 {
		t.Errorf("after %d writes: %v", writes, err)
	}
	t.Logf("%d writes, then: %v", writes, err)
	began := time.Now()
	if err := calm.putRecord(ctx, "quietvictim-beside-glutton", "beside-glutton.victim.example.", "A", "192.0.2.73"); err != nil {
		t.Errorf("another is not served: %v", err)
	}
	t.Logf("another's write took %s", time.Since(began).Round(time.Millisecond))
	if err := them.records().DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{}); err != nil {
		t.Errorf("a namespace over its budget may not delete: %v", err)
	}
	if err := budget(admin, "stored=25%"); err != nil {
		t.Error(err)
	}
}

func (a *arena) readMetrics(ctx context.Context, t *testing.T) string {
	t.Helper()
	return string(must.Get(a.admin.tenantAt(t, a.server).RESTClient().Get().AbsPath("/metrics").DoRaw(ctx))(t))
}

func (a *arena) readFigure(ctx context.Context, t *testing.T, metric, namespace string) float64 {
	t.Helper()
	text := a.readMetrics(ctx, t)
	found := regexp.MustCompile(`(?m)^` + metric + `\{namespace="` + namespace + `"\} (\S+)$`).FindStringSubmatch(text)
	if found == nil {
		return 0
	}
	return must.Get(strconv.ParseFloat(found[1], 64))(t)
}

// 73, measured with -noisy: the effect on another tenant, and on etcd, of a tenant that changes a record in the
// largest possible zone as fast as possible, without a budget and with the flags' budget.
func TestNoise_octets(t *testing.T) {
	if *noisy == 0 {
		t.Skip("without -noisy there is nothing to measure")
	}
	a := requireArena(t)
	ctx := within(t, 2*waitTimeout+4**noisy)
	const loud = "loud-octets"
	must.Succeed(t, a.joinTenant(ctx, loud))
	them, calm := a.tenants[loud], a.tenants[victim]
	fat := makeZone(loud, "fat", "loud-octets.example.", makeRule(loud, nil, "*"))
	for i := range 480 {
		fat.Spec.Delegations = append(fat.Spec.Delegations, makeRule(loud, nil, fmt.Sprintf("%05d%s.%s", i, strings.Repeat("a", 55),
			strings.Repeat("b", 50))))
	}
	until(ctx, t, "the fat zone", func() error {
		_, err := them.zones().Create(ctx, fat, metav1.CreateOptions{})
		return err
	})
	for i := range 4 {
		must.Succeed(t, them.putRecord(ctx, fmt.Sprintf("r%d", i), fmt.Sprintf("r%d.loud-octets.example.", i), "A", "192.0.2.1"))
	}
	admin := must.Get(a.kube.Clients())(t)
	alone := calm.changeQuietly(ctx, t, 40, time.Now().Add(*noisy))
	t.Logf("alone: %d changes, p50 %s, p99 %s", len(alone), percentileOf(alone, 50), percentileOf(alone, 99))
	for _, budget := range []string{"stored=unlimited,written=unlimited", "written=2Mi"} {
		must.Get(admin.CoreV1().Namespaces().Patch(ctx, loud, types.MergePatchType,
			fmt.Appendf(nil, `{"metadata":{"annotations":{"kubi.zone/budget":%q}}}`, budget), metav1.PatchOptions{}))(t)
		noise, silence := context.WithCancel(ctx)
		var all sync.WaitGroup
		var written, refused atomic.Int64
		for i := range 4 {
			all.Go(func() {
				for n := 0; noise.Err() == nil; n++ {
					err := them.RESTClient().Patch(types.MergePatchType).Namespace(loud).Resource("records").Name(fmt.Sprintf("r%d", i)).
						Body(fmt.Appendf(nil, `{"spec":{"ttl":%d}}`, n%1000+300)).MaxRetries(0).Do(noise).Error()
					switch {
					case err == nil:
						written.Add(1)
					case apierrors.IsTooManyRequests(err): // a well-behaved client would wait longer
						refused.Add(1)
						time.Sleep(100 * time.Millisecond)
					}
				}
			})
		}
		// The measurement starts after the burst.
		for budget != "stored=unlimited,written=unlimited" && refused.Load() == 0 && ctx.Err() == nil {
			time.Sleep(100 * time.Millisecond)
		}
		began, size, from := time.Now(), a.etcdSize(ctx, t), written.Load()
		beside := calm.changeQuietly(ctx, t, 40, time.Now().Add(*noisy))
		grown, elapsed, wrote := a.etcdSize(ctx, t)-size, time.Since(began), written.Load()-from
		silence()
		all.Wait()
		t.Logf("%s: %d changes beside it, p50 %s, p99 %s; it made %.0f writes a second, %d were refused in all, "+
			"etcd's file grew by %.1f MiB in %s: 8 GiB after %.0f s", budget, len(beside), percentileOf(beside, 50),
			percentileOf(beside, 99),
			float64(wrote)/elapsed.Seconds(), refused.Load(), grown/(1<<20), elapsed.Round(time.Second),
			8*(1<<30)/(grown/elapsed.Seconds()))
	}
}

func (a *arena) etcdSize(ctx context.Context, t *testing.T) float64 {
	t.Helper()
	client := must.Get(clientv3.New(clientv3.Config{Endpoints: []string{a.etcd.Endpoint}, Logger: zap.NewNop()}))(t)
	defer client.Close()
	return float64(must.Get(client.Status(ctx, a.etcd.Endpoint))(t).DbSize)
}
