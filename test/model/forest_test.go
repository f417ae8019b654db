// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package model

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	typed "kubi.zone/kubizone/api/client/clientset/versioned/typed/kubizone/v1alpha1"
	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/zone/ledger/subrev"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/rig/kuberig"
)

// A small forest, so that clients, names and zones often collide.
var (
	namespaces = []string{"owner", "a", "b"}
	zoneNames  = []string{"org.", "example.org.", "dev.example.org.", "x.dev.example.org.", "net.", "www.example.org."}
	relatives  = []string{"example", "dev", "x"}
	owners     = []string{"org.", "example.org.", "www.example.org.", "dev.example.org.", "t.dev.example.org.", "x.dev.example.org.", "y.x.dev.example.org.", "www.net.", "ns1.example.org.", "mail.example.org.",
		"_acme-challenge.www.example.org.", "*.www.example.org.", "_dmarc.example.org.", "_tcp.dev.example.org."}
	below    = []string{"@", "www", "dev", "t", "ns1", "x.y", "_tcp.www", "*.t"}
	patterns = []string{"*", "@", "www", "*.dev", "x", "mail"}
	data     = []string{"A 192.0.2.1", "A 192.0.2.2", "AAAA 2001:db8::1", "TXT t", "CNAME www", "NS ns1", "NS ns.example.net.", "MX 10 mail"}
	views    = []string{"", "", "", "", "inside"}
)

type operation struct {
	client int
	server int
	what   string
	do     func(ctx context.Context, api typed.KubizoneV1alpha1Interface) (metav1.Object, error)
}

type answered struct {
	client           int
	server           int
	what             string
	before, revision int64 // version before the request; version of the answered object, 0 if refused
	object           string
	err              error
}

func (a answered) String() string {
	message := fmt.Sprintf("%s at revision %d", a.object, a.revision)
	if a.err != nil {
		message = a.err.Error()
	}
	return fmt.Sprintf("client %d, server %d, after revision %d: %s -> %s", a.client, a.server, a.before, a.what, message)
}

func pickOne[T any](r *rand.Rand, of []T) T { return of[r.IntN(len(of))] }

func drawOperation(r *rand.Rand) operation {
	op := operation{server: r.IntN(2)}
	ns := pickOne(r, namespaces)
	switch n := r.IntN(20); {
	case n < 9:
		op.drawRecord(r, ns, fmt.Sprintf("r%d", r.IntN(6)))
	case n < 12:
		name := fmt.Sprintf("r%d", r.IntN(6))
		op.what = fmt.Sprintf("delete record %s/%s", ns, name)
		op.do = func(ctx context.Context, api typed.KubizoneV1alpha1Interface) (metav1.Object, error) {
			return nil, api.Records(ns).Delete(ctx, name, metav1.DeleteOptions{})
		}
	case n < 17:
		op.drawZone(r, ns, fmt.Sprintf("z%d", r.IntN(3)))
	case n < 18:
		op.drawDS(r, ns, fmt.Sprintf("z%d", r.IntN(3)))
	default:
		name := fmt.Sprintf("z%d", r.IntN(3))
		op.what = fmt.Sprintf("delete zone %s/%s", ns, name)
		op.do = func(ctx context.Context, api typed.KubizoneV1alpha1Interface) (metav1.Object, error) {
			return nil, kuberig.DeleteZone(ctx, api.Zones(ns), name)
		}
	}
	return op
}

func drawReference(r *rand.Rand) *v1alpha1.ZoneReference {
	return &v1alpha1.ZoneReference{Namespace: pickOne(r, namespaces), Name: fmt.Sprintf("z%d", r.IntN(3))}
}

func (op *operation) drawRecord(r *rand.Rand, ns, name string) {
	var spec v1alpha1.RecordSpec
	if r.IntN(3) == 0 {
		spec.DomainName, spec.ZoneRef = pickOne(r, below), drawReference(r)
	} else {
		spec.DomainName, spec.View = pickOne(r, owners), pickOne(r, views)
	}
	spec.Type, spec.RData, _ = strings.Cut(pickOne(r, data), " ")
	if r.IntN(4) == 0 {
		spec.TTL = ptr.To(int32(r.IntN(3) * 60))
	}
	op.what = fmt.Sprintf("put record %s/%s %s ref=%s view=%q %s %s", ns, name, spec.DomainName, describeReference(spec.ZoneRef), spec.View,
		spec.Type, spec.RData)
	op.do = func(ctx context.Context, api typed.KubizoneV1alpha1Interface) (metav1.Object, error) {
		made, err := api.Records(ns).Create(ctx, &v1alpha1.Record{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: spec}, metav1.CreateOptions{})
		if !apierrors.IsAlreadyExists(err) {
			return made, err
		}
		spec := spec // do may run again
		there, err := api.Records(ns).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return nil, err
		}
		spec.View = there.Spec.View
		there.Spec = spec
		return api.Records(ns).Update(ctx, there, metav1.UpdateOptions{})
	}
}

func (op *operation) drawZone(r *rand.Rand, ns, name string) {
	var spec v1alpha1.ZoneSpec
	if r.IntN(3) == 0 {
		spec.DomainName, spec.ZoneRef = pickOne(r, relatives), drawReference(r)
	} else {
		spec.DomainName, spec.View = pickOne(r, zoneNames), pickOne(r, views)
	}
	var rules []string
	for range r.IntN(4) {
		d := v1alpha1.DelegationRule{Namespaces: [][]string{nil, {"a"}, {"b"}, {"a", "b"}}[r.IntN(4)]}
		if r.IntN(3) == 0 {
			d.Zones, d.DS = []string{pickOne(r, patterns)}, r.IntN(2) == 0
		} else {
			d.Records = []v1alpha1.RecordDelegation{{Pattern: pickOne(r, patterns),
				Types: [][]string{nil, nil, {"A", "AAAA", "NS"}}[r.IntN(3)]}}
		}
		spec.Delegations = append(spec.Delegations, d)
		rules = append(rules, fmt.Sprintf("%v ds=%t %v to %v", d.Zones, d.DS, d.Records, d.Namespaces))
	}
	if r.IntN(2) == 0 { // generous, to avoid a run of refusals
		spec.Delegations = append(spec.Delegations, v1alpha1.DelegationRule{Zones: []string{"*"}, DS: true, Records: []v1alpha1.RecordDelegation{{Pattern: "*"}, {Pattern: "@"}}})
		rules = append(rules, "everything to everybody")
	}
	for _, server := range []v1alpha1.NameServer{{Name: "ns1", Addresses: []string{"192.0.2.53"}}, {Name: "ns.example.net."}} {
		if r.IntN(3) == 0 {
			spec.NameServers = append(spec.NameServers, server)
		}
	}
	if r.IntN(2) == 0 { // withdrawals take effect at once (S3.6)
		spec.WithdrawalGracePeriod = &metav1.Duration{}
		rules = append(rules, "no grace")
	}
	op.what = fmt.Sprintf("put zone %s/%s %s ref=%s view=%q name servers %v rules: %s", ns, name, spec.DomainName,
		describeReference(spec.ZoneRef), spec.View, spec.NameServers, strings.Join(rules, "; "))
	op.do = func(ctx context.Context, api typed.KubizoneV1alpha1Interface) (metav1.Object, error) {
		made, err := api.Zones(ns).Create(ctx, &v1alpha1.Zone{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: spec}, metav1.CreateOptions{})
		if !apierrors.IsAlreadyExists(err) {
			return made, err
		}
		spec := spec
		there, err := api.Zones(ns).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return nil, err
		}
		spec.View = there.Spec.View
		spec.DeletionPolicy = there.Spec.DeletionPolicy
		there.Spec = spec
		return api.Zones(ns).Update(ctx, there, metav1.UpdateOptions{})
	}
}

// drawDS writes the DS of a zone, as a controller does (S12.2).
func (op *operation) drawDS(r *rand.Rand, ns, name string) {
	var ds []v1alpha1.DelegationSigner
	for range r.IntN(3) {
		tag := int32(len(ds) + r.IntN(2)*10)
		ds = append(ds, v1alpha1.DelegationSigner{KeyTag: tag, Algorithm: 13, DigestType: 2, Digest: strings.Repeat("0A", 32)})
	}
	op.what = fmt.Sprintf("sign zone %s/%s %v", ns, name, ds)
	op.do = func(ctx context.Context, api typed.KubizoneV1alpha1Interface) (metav1.Object, error) {
		there, err := api.Zones(ns).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return nil, err
		}
		var dnssec *v1alpha1.ZoneDNSSECStatus // merging an empty list would keep the old DS
		if len(ds) > 0 {
			dnssec = &v1alpha1.ZoneDNSSECStatus{FQDN: there.Status.FQDN, DS: ds} // FQDN may change before the write arrives
		}
		patch, err := json.Marshal(map[string]any{"status": map[string]any{"dnssec": dnssec}})
		if err != nil {
			return nil, err
		}
		return api.Zones(ns).Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{}, "dnssec")
	}
}

func describeReference(ref *v1alpha1.ZoneReference) string {
	if ref == nil {
		return "none"
	}
	return ref.Namespace + "/" + ref.Name
}

// drawOperations keeps each client's order; the seed determines all.
func drawOperations(clients int) (all []operation) {
	for client := range clients {
		r := rand.New(rand.NewPCG(*seed, uint64(client)))
		for range *operations {
			op := drawOperation(r)
			op.client = client
			all = append(all, op)
		}
	}
	return all
}

func (w *world) performOperations(t *testing.T, ops []operation) ([]answered, error) {
	t.Helper()
	var all []answered
	var unexpected error
	var mu sync.Mutex
	var wait sync.WaitGroup
	apis := [2]typed.KubizoneV1alpha1Interface{w.connectServer(t, 0), w.connectServer(t, 1)}
	of := map[int][]operation{}
	for _, op := range ops {
		of[op.client] = append(of[op.client], op)
	}
	for _, mine := range of {
		wait.Go(func() {
			for _, op := range mine {
				a := answered{client: op.client, server: op.server, what: op.what}
				if now, err := w.client.Client.Get(t.Context(), "/"); err == nil {
					a.before = subrev.Version(now.Header.Revision, subrev.Last)
				}
				object, err := op.do(t.Context(), apis[op.server])
				if a.err = err; err == nil && object != nil {
					a.object = object.GetNamespace() + "/" + object.GetName()
					fmt.Sscan(object.GetResourceVersion(), &a.revision)
				}
				mu.Lock()
				all = append(all, a)
				switch {
				case err == nil, apierrors.IsForbidden(err), apierrors.IsInvalid(err), apierrors.IsConflict(err), apierrors.IsNotFound(err), apierrors.IsAlreadyExists(err):
				default:
					unexpected = fmt.Errorf("an answer that nobody may get: %s", a)
				}
				mu.Unlock()
			}
		})
	}
	wait.Wait()
	return all, unexpected
}

type ran struct {
	asked     []answered
	history   history
	revisions int64
	about     []string // objects named by wrong; empty: any
	wrong     error
}

func (w *world) runOperations(t *testing.T, ops []operation) (r ran) {
	t.Helper()
	from := w.readRevision(t)
	r.asked, r.wrong = w.performOperations(t, ops)
	settled := w.waitForCascades(t)
	if settled == nil {
		w.markEnd(t)
	}
	to := w.readRevision(t)
	r.revisions = (to - from) / subrev.Objects
	r.history = w.readHistory(t, 0, from)
	if r.wrong != nil {
		return r
	}
	if r.about, r.wrong = checkHistory(r.history); r.wrong != nil {
		return r
	}
	if r.about, r.wrong = expectAcknowledged(r.history, r.asked); r.wrong != nil {
		return r
	}
	for revision := from + subrev.Objects; revision <= to; revision += subrev.Objects {
		if report := w.runFsck(t, revision); !report.Clean() {
			r.wrong = fmt.Errorf("at revision %d: %v", revision, report.Damage.List)
			return r
		}
	}
	if r.wrong = settled; r.wrong != nil {
		return r
	}
	if other := w.readHistory(t, 1, from); !slices.Equal(other.listKeys(), r.history.listKeys()) {
		r.wrong = fmt.Errorf("the servers show different histories:\n%v\n%v", r.history.listKeys(), other.listKeys())
		return r
	}
	r.wrong = w.sameEntries(t)
	return r
}

// TestForest_everyRevisionIsTrue sends random operations to two servers at once: zones in views, child zones,
// delegations, zoneRefs, claims, deletions. The model checks each revision of the store: each Record is in the right
// zone by the rules, and serial and hash are those of the content (S2.1, S2.2, S4.8, S6.7, S6.8, S7.1). In the end no
// cascade is pending (S7.2).
func TestForest_everyRevisionIsTrue(t *testing.T) {
	w := requireWorld(t)
	t.Logf("seed %d", *seed)
	ops := drawOperations(*clients)
	r := w.runOperations(t, ops)
	if r.wrong != nil {
		t.Error(r.wrong)
		text := fmt.Sprintf("%v\n\n%s", r.wrong, writeScenario(r.asked, r.history, r.about))
		path := filepath.Join(os.TempDir(), fmt.Sprintf("kubizone-model-%d.txt", *seed))
		must.Succeed(t, os.WriteFile(path, []byte(text), 0o600))
		t.Fatalf("seed %d; what led to it is in %s", *seed, path)
	}
	accepted := 0
	for _, a := range r.asked {
		if a.err == nil {
			accepted++
		}
	}
	t.Logf("%d operations, %d accepted, %d changes of objects, %d revisions, each checked", len(r.asked), accepted, len(r.history), r.revisions)
	if accepted < len(r.asked)/10 {
		t.Errorf("only %d of %d operations were accepted: this proves little", accepted, len(r.asked))
	}
}

// expectAcknowledged: the history has each acknowledged write at the answered revision (S7.1).
func expectAcknowledged(h history, asked []answered) (about []string, err error) {
	at := map[string]bool{}
	for _, c := range h {
		at[fmt.Sprintf("%s@%d", c.object, c.revision)] = true
	}
	for _, a := range asked {
		// A write that changes nothing answers with the old revision.
		if a.err == nil && a.revision > a.before && !at[fmt.Sprintf("%s@%d", a.object, a.revision)] {
			return []string{a.object}, fmt.Errorf("S7.1: acknowledged and not in the history: %s", a)
		}
	}
	return nil, nil
}

// sameEntries: both servers answer with equal entries for each zone, at the zone's serial and hash (S7.1).
func (w *world) sameEntries(t *testing.T) error {
	t.Helper()
	zones := must.Get(w.connectServer(t, 0).Zones("").List(t.Context(), metav1.ListOptions{}))(t)
	for _, z := range zones.Items {
		if z.Status.Serial == 0 {
			continue
		}
		var text [2]string
		for i := range text {
			body := must.Get(w.connectServer(t, i).RESTClient().Get().Namespace(z.Namespace).Resource("zones").Name(z.Name).SubResource(
				"entries").Param("format", "text").DoRaw(t.Context()))(t)
			text[i] = string(body)
		}
		if text[0] != text[1] || !strings.Contains(text[0], fmt.Sprintf(" serial %d hash %s", z.Status.Serial, z.Status.Hash)) {
			return fmt.Errorf("S7.1: zone %s/%s has serial %d and hash %s; the servers show\n%s\n%s", z.Namespace, z.Name, z.Status.Serial, z.Status.Hash, text[0], text[1])
		}
	}
	return nil
}

// writeScenario describes a failure for people: operations and answers about the objects of the error and their
// zones.
func writeScenario(asked []answered, h history, about []string) string {
	keep := map[string]bool{}
	for _, o := range about {
		keep[o] = true
	}
	for _, c := range h {
		if c.record == nil || !keep[c.object] {
			continue
		}
		if ref := c.record.Status.ZoneRef; ref != nil {
			keep[ref.Namespace+"/"+ref.Name] = true
		}
		if ref := c.record.Spec.ZoneRef; ref != nil {
			keep[ref.Namespace+"/"+ref.Name] = true
		}
	}
	var out strings.Builder
	fmt.Fprintf(&out, "seed %d\n\nasked:\n", *seed)
	for _, a := range asked {
		fields := strings.Fields(a.what)
		if len(about) == 0 || keep[fields[2]] {
			fmt.Fprintln(&out, a)
		}
	}
	fmt.Fprintf(&out, "\ncommitted:\n")
	for _, c := range h {
		if len(about) == 0 || keep[c.object] {
			fmt.Fprintln(&out, c)
		}
	}
	return out.String()
}
