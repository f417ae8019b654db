// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package model

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	typed "kubi.zone/kubizone/api/client/clientset/versioned/typed/kubizone/v1alpha1"
	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/test/must"
)

// The owner of the zones, and a tenant that is admitted and revoked.
const linearOwner, linearTenant = "linear-owner", "linear-tenant"

// input is a call, output its answer. Values are addresses; "" is none.
type input struct {
	zone string
	kind string // put, delete, read, knock, let
	name string
	data string
	open bool // let: admits the tenant, or revokes
}

type output struct {
	refused bool
	serial  int64
	entries string // read: "name=address" of the owner's records, sorted
}

type linear struct {
	records string // as output.entries
	open    bool
	serial  int64 // at least
}

func setRecord(records, name, data string) string {
	all := map[string]string{}
	for _, r := range strings.Fields(records) {
		n, d, _ := strings.Cut(r, "=")
		all[n] = d
	}
	if all[name] = data; data == "" {
		delete(all, name)
	}
	var out []string
	for _, n := range slices.Sorted(maps.Keys(all)) {
		out = append(out, n+"="+all[n])
	}
	return strings.Join(out, " ")
}

// sequential accepts the answers of sequential calls. Serials only grow: the cascade that removes a tenant's records
// has serials of its own.
var sequential = porcupine.Model{
	Partition: func(all []porcupine.Operation) (parts [][]porcupine.Operation) {
		by := map[string][]porcupine.Operation{}
		for _, o := range all {
			zone := o.Input.(input).zone
			by[zone] = append(by[zone], o)
		}
		for _, zone := range slices.Sorted(maps.Keys(by)) {
			parts = append(parts, by[zone])
		}
		return parts
	},
	Init: func() any { return linear{open: true} },
	Step: func(was, in, out any) (bool, any) {
		s, i, o := was.(linear), in.(input), out.(output)
		if o.serial != 0 {
			if o.serial < s.serial || i.kind != "read" && o.serial == s.serial {
				return false, s
			}
			s.serial = o.serial
		}
		switch i.kind {
		case "put":
			s.records = setRecord(s.records, i.name, i.data)
		case "delete":
			s.records = setRecord(s.records, i.name, "")
		case "read":
			return o.entries == s.records, s
		case "knock":
			return o.refused != s.open, s
		case "let":
			s.open = i.open
		}
		return true, s
	},
	DescribeOperation: func(in, out any) string { return fmt.Sprintf("%+v -> %+v", in, out) },
}

// TestLinearizable: with clients at two servers, each zone behaves like a single server and client. Later reads have
// every acknowledged write (S7.1), consecutive writers have distinct serials (S6.8), and an answer that grants or
// revokes access takes effect at once (S2.2, I5).
func TestLinearizable(t *testing.T) {
	w := requireWorld(t)
	apis := [2]typed.KubizoneV1alpha1Interface{w.connectServer(t, 0), w.connectServer(t, 1)}
	zones := []string{"one", "two", "three"}
	var all []porcupine.Operation
	for n, z := range zones {
		// A zone begins revoked, or the tenant might ask everywhere before the first answer that revokes.
		open := z != "three"
		all = append(all, porcupine.Operation{Input: input{zone: z, kind: "let", open: open}, Output: output{}, Call: int64(2*n - 10), Return: int64(2*n - 9)})
		must.Get(apis[0].Zones(linearOwner).Create(t.Context(), &v1alpha1.Zone{ObjectMeta: metav1.ObjectMeta{Name: z},
			Spec: v1alpha1.ZoneSpec{Limits: &v1alpha1.ZoneLimits{MaxDeletePercent: new(int32(100))}, DomainName: z + ".linear.",
				Delegations: makeRules(open)}}, metav1.CreateOptions{}))(t)
	}
	var mu sync.Mutex
	began := time.Now()
	var wait sync.WaitGroup
	for client := range 6 {
		r := rand.New(rand.NewPCG(*seed, uint64(1000+client)))
		wait.Go(func() {
			for n := range *operations {
				i := input{zone: pickOne(r, zones)}
				api := apis[r.IntN(2)]
				switch k := r.IntN(10); {
				case client == 0 && k < 5: // only one client, so that its answers have an order
					i.kind, i.open = "let", r.IntN(2) == 0
				case k < 3:
					// Each client has names of its own: resourceVersion handles two writers of an object.
					i.kind, i.name, i.data = "put", fmt.Sprintf("c%d-%d", client, r.IntN(2)), fmt.Sprintf("192.0.2.%d", n)
				case k < 4:
					i.kind, i.name = "delete", fmt.Sprintf("c%d-%d", client, r.IntN(2))
				case k < 7:
					i.kind, i.name = "knock", fmt.Sprintf("t%d-%d", client, n)
				default:
					i.kind = "read"
				}
				call := time.Since(began)
				o, done, err := i.makeCall(t, api)
				back := time.Since(began)
				if err != nil {
					t.Errorf("%+v: %v", i, err)
					return
				}
				if done {
					mu.Lock()
					all = append(all, porcupine.Operation{ClientId: client, Input: i, Call: int64(call), Output: o, Return: int64(back)})
					mu.Unlock()
				}
			}
		})
	}
	wait.Wait()
	result, info := porcupine.CheckOperationsVerbose(sequential, all, waitTimeout)
	counts := map[string]int{}
	for _, o := range all {
		i := o.Input.(input)
		if i.kind == "knock" && o.Output.(output).refused {
			i.kind = "knock, refused"
		}
		counts[i.kind]++
	}
	t.Logf("seed %d: %v: %s", *seed, counts, result)
	if counts["knock"] == 0 || counts["knock, refused"] == 0 || counts["read"] == 0 {
		t.Errorf("this proves little: %v", counts)
	}
	if result != porcupine.Ok {
		slices.SortFunc(all, func(x, y porcupine.Operation) int { return int(x.Call - y.Call) })
		for _, o := range all {
			t.Logf("%8.3fs-%8.3fs client %d %+v -> %+v", float64(o.Call)/1e9, float64(o.Return)/1e9, o.ClientId, o.Input, o.Output)
		}
		path := t.ArtifactDir() + "/linear.html"
		if err := porcupine.VisualizePath(sequential, info, path); err == nil {
			t.Logf("drawn in %s (go test -artifacts keeps it)", path)
		}
		t.Fatalf("seed %d: no order of the calls explains the answers", *seed)
	}
}

func makeRules(open bool) []v1alpha1.DelegationRule {
	all := []v1alpha1.DelegationRule{{Namespace: linearOwner, Records: []v1alpha1.RecordDelegation{{Pattern: "*"}}}}
	if open {
		all = append(all, v1alpha1.DelegationRule{Namespace: linearTenant, Records: []v1alpha1.RecordDelegation{{Pattern: "t*"}}})
	}
	return all
}

// makeCall makes the call. done: the answer counts; err: no server may answer so.
func (i input) makeCall(t *testing.T, api typed.KubizoneV1alpha1Interface) (o output, done bool, err error) {
	ctx := t.Context()
	object := i.zone + "-" + i.name
	record := func(namespace string) *v1alpha1.Record {
		return &v1alpha1.Record{ObjectMeta: metav1.ObjectMeta{Name: object}, Spec: v1alpha1.RecordSpec{DomainName: i.name + "." + i.zone + ".linear.", Type: "A", RData: i.data}}
	}
	switch i.kind {
	case "put":
		made, err := api.Records(linearOwner).Create(ctx, record(linearOwner), metav1.CreateOptions{})
		if apierrors.IsAlreadyExists(err) {
			made, err = api.Records(linearOwner).Patch(ctx, object, types.MergePatchType, fmt.Appendf(nil, `{"spec":{"rdata":%q}}`, i.data), metav1.PatchOptions{})
		}
		if err != nil {
			return o, false, err
		}
		return output{serial: made.Status.Serial}, true, nil
	case "delete":
		err := api.Records(linearOwner).Delete(ctx, object, metav1.DeleteOptions{})
		if apierrors.IsNotFound(err) {
			return o, true, nil // afterwards the name is absent in either case
		}
		return o, true, err
	case "knock":
		tenant := record(linearTenant)
		tenant.Spec.RData = "192.0.2.250"
		_, err := api.Records(linearTenant).Create(ctx, tenant, metav1.CreateOptions{})
		if apierrors.IsForbidden(err) {
			return output{refused: true}, true, nil
		}
		return o, true, err
	case "let":
		for {
			z, err := api.Zones(linearOwner).Get(ctx, i.zone, metav1.GetOptions{})
			if err != nil {
				return o, false, err
			}
			z.Spec.Delegations = makeRules(i.open)
			_, err = api.Zones(linearOwner).Update(ctx, z, metav1.UpdateOptions{})
			if apierrors.IsConflict(err) {
				continue // records change the zone's status all the time
			}
			return o, true, err
		}
	}
	got, err := api.Zones(linearOwner).GetEntries(ctx, i.zone, metav1.GetOptions{})
	if err != nil {
		return o, false, err
	}
	for _, e := range got.Entries {
		if name, ok := strings.CutSuffix(e.FQDN, "."+i.zone+".linear."); ok && e.Type == "A" && strings.HasPrefix(name, "c") {
			o.entries = setRecord(o.entries, name, e.RData)
		}
	}
	o.serial = got.Serial
	return o, true, nil
}
