// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package rrsets

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/test/must"
)

const manager = "ours"

func makeRecord(object string, managers []string, values ...string) *v1alpha1.Record {
	r := &v1alpha1.Record{Spec: v1alpha1.RecordSpec{DomainName: "www", Type: "A", Values: values}}
	r.Name, r.Status.FQDN = object, object+".example.org."
	for _, manager := range managers {
		operation := metav1.ManagedFieldsOperationUpdate
		if applier, applied := strings.CutSuffix(manager, " by apply"); applied {
			manager, operation = applier, metav1.ManagedFieldsOperationApply
		}
		r.ManagedFields = append(r.ManagedFields, metav1.ManagedFieldsEntry{Manager: manager, Operation: operation,
			FieldsV1: metav1.NewFieldsV1(`{"f:spec":{}}`)})
	}
	return r
}

func describeChanges(changes []Change) (texts []string) {
	for _, c := range changes {
		op := "~"
		switch {
		case c.Before == nil:
			op = "+"
		case c.After == nil:
			op = "-"
		}
		texts = append(texts, op+c.Record().Name+strings.Join(c.OtherManagers, ","))
	}
	return texts
}

func TestPlan(t *testing.T) {
	local := []string{manager}
	all := func(*v1alpha1.Record) bool { return true }
	withTTL := makeRecord("a", local, "192.0.2.1")
	withTTL.Spec.TTL = ptr.To(int32(60))
	going := makeRecord("a", local, "192.0.2.1")
	going.DeletionTimestamp = &metav1.Time{}
	described := makeRecord("a", local, "192.0.2.1")
	described.Spec.Description = "of the web team"
	for name, x := range map[string]struct {
		existing, wanted []*v1alpha1.Record
		complete         func(*v1alpha1.Record) bool
		want             []string
	}{
		"of nothing": {},
		"creates":    {nil, []*v1alpha1.Record{makeRecord("b", nil, "1"), makeRecord("a", nil, "1")}, nil, []string{"+b", "+a"}},
		"keeps what is equal but for its order and description": {[]*v1alpha1.Record{makeRecord("b", local, "1", "2"), described},
			[]*v1alpha1.Record{makeRecord("b", nil, "2", "1"), makeRecord("a", nil, "192.0.2.1")}, all, nil},
		"updates values": {[]*v1alpha1.Record{makeRecord("a", local, "1")}, []*v1alpha1.Record{makeRecord("a", nil, "2")}, nil,
			[]string{"~a"}},
		"updates a TTL": {[]*v1alpha1.Record{makeRecord("a", local, "192.0.2.1")}, []*v1alpha1.Record{withTTL}, nil, []string{"~a"}},
		"tells who else changed a Record": {[]*v1alpha1.Record{makeRecord("a", []string{manager, "edit"}, "1")},
			[]*v1alpha1.Record{makeRecord("a", nil, "2")}, nil, []string{"~aedit"}},
		"deletes first": {[]*v1alpha1.Record{makeRecord("z", local), makeRecord("y", local)},
			[]*v1alpha1.Record{makeRecord("a", nil, "1")}, all, []string{"-y", "-z", "+a"}},
		"deletes nothing at other names": {[]*v1alpha1.Record{makeRecord("z", local), makeRecord("y", local)}, nil,
			func(r *v1alpha1.Record) bool { return r.Name == "z" }, []string{"-z"}},
		"deletes nothing of others": {[]*v1alpha1.Record{makeRecord("z", []string{"edit"}), makeRecord("y", nil),
			makeRecord("x", []string{manager + " by apply"})}, nil, all, nil},
		"deletes nothing twice": {[]*v1alpha1.Record{going}, nil, all, nil},
		"tells who else changed a Record that goes": {[]*v1alpha1.Record{makeRecord("z", []string{"edit", manager})}, nil, all,
			[]string{"-zedit"}},
	} {
		got := describeChanges(Plan(x.existing, Desired{Manager: manager, Records: x.wanted, Complete: x.complete}))
		if !slices.Equal(got, x.want) {
			t.Errorf("a plan %s: %q, want %q", name, got, x.want)
		}
	}
}

// A plan reaches the wanted RRsets, deletes no Record of another manager or at another name, and leaves a second plan
// nothing to do.
func TestPlan_isIdempotentAndTouchesNothingOfOthers(t *testing.T) {
	for seed := range uint64(2000) {
		random := rand.New(rand.NewPCG(seed, 0))
		values := func() (all []string) {
			for i := range 3 {
				if random.IntN(2) == 0 {
					all = append(all, fmt.Sprint("192.0.2.", i))
				}
			}
			return all
		}
		d := Desired{Manager: manager, Complete: func(r *v1alpha1.Record) bool { return r.Name < "m" }}
		var existing []*v1alpha1.Record
		for _, object := range []string{"a", "b", "c", "x", "y"} {
			if random.IntN(2) == 0 {
				managers := []string{manager, "edit", manager + " by apply"}[random.IntN(3)]
				existing = append(existing, makeRecord(object, []string{managers}, values()...))
			}
			if random.IntN(2) == 0 {
				d.Records = append(d.Records, makeRecord(object, []string{manager}, values()...))
			}
		}
		after := map[string]*v1alpha1.Record{}
		for _, r := range existing {
			after[r.Name] = r
		}
		begun := false
		for _, c := range Plan(existing, d) {
			if c.After != nil {
				begun = true
			} else if begun {
				t.Fatalf("seed %d: the deletion of %s is not first", seed, c.Before.Name)
			}
			if c.Before != nil {
				owns, _ := d.findManagers(c.Before)
				wanted := slices.ContainsFunc(d.Records, func(r *v1alpha1.Record) bool { return r.Name == c.Before.Name })
				if !wanted && (!owns || !d.Complete(c.Before)) {
					t.Fatalf("seed %d: %s is not for this plan", seed, c.Before.Name)
				}
				if !owns && len(c.OtherManagers) == 0 {
					t.Fatalf("seed %d: a change of %s does not name its managers", seed, c.Before.Name)
				}
			}
			if after[c.Record().Name] = c.After; c.After == nil {
				delete(after, c.Record().Name)
			}
		}
		var outcome []*v1alpha1.Record
		for _, r := range after {
			outcome = append(outcome, r)
		}
		for _, want := range d.Records {
			if have := after[want.Name]; have == nil || !sameSpec(&have.Spec, &want.Spec) {
				t.Fatalf("seed %d: %s is not as wanted", seed, want.Name)
			}
		}
		if more := Plan(outcome, d); len(more) > 0 {
			t.Fatalf("seed %d: a second plan has %q", seed, describeChanges(more))
		}
	}
}

func TestPages_haveWhatTheServerTakes(t *testing.T) {
	var writes []*Change
	large := strings.Repeat("x", 30<<10)
	for i := range 350 {
		r := makeRecord(fmt.Sprint("r", i), nil, "1")
		r.Status.FQDN = fmt.Sprint("n", i%150)
		if i%25 == 0 {
			r.Spec.Values = []string{large}
		}
		switch c := (&Change{After: r}); {
		case i%50 == 1:
			r.Finalizers = []string{"test/held"}
			writes = append(writes, &Change{Before: r})
		case i%50 == 2:
			writes = append(writes, &Change{Before: r, After: r})
		default:
			writes = append(writes, c)
		}
	}
	pageOf, count := map[string]int{}, 0
	for i, page := range Pages(writes, func(c *Change) *Change { return c }) {
		octets := 0
		for _, c := range page {
			count++
			if c.isSeparate() {
				if len(page) > 1 {
					t.Errorf("%s is in a page of %d", c.Record().Name, len(page))
				}
				continue
			}
			item := must.Get(c.Item())(t)
			octets += item.Size()
			at := c.Record().Status.FQDN
			if had, known := pageOf[at]; known && had != i {
				t.Errorf("what is at %s is in two pages", at)
			}
			pageOf[at] = i
		}
		if len(page) > v1alpha1.MaxChangeSetItems || octets > v1alpha1.MaxChangeSetOctets {
			t.Errorf("page %d has %d items and %d octets", i, len(page), octets)
		}
	}
	if count != len(writes) {
		t.Errorf("pages have %d of %d writes", count, len(writes))
	}
	one := make([]*Change, v1alpha1.MaxChangeSetItems+1)
	for i := range one {
		one[i] = &Change{After: makeRecord("r", nil)}
	}
	if pages := Pages(one, func(c *Change) *Change { return c }); len(pages) != 2 || len(pages[0]) != v1alpha1.MaxChangeSetItems {
		t.Errorf("one name with more than a set has is in %d pages", len(pages))
	}
}

func TestItem(t *testing.T) {
	existing, wanted := makeRecord("a", nil, "192.0.2.1"), makeRecord("a", nil, "192.0.2.2")
	existing.UID, existing.ResourceVersion = "u", "7"
	for name, x := range map[string]struct {
		Change
		want string
	}{
		"a creation": {Change{After: wanted}, `create {"kind":"Record","apiVersion":"kubi.zone/v1alpha1","metadata":{"name":"a"},` +
			`"spec":{"domainName":"www","type":"A","values":["192.0.2.2"]},"status":{}}`},
		"a change": {Change{Before: existing, After: wanted}, `apply {"kind":"Record","apiVersion":"kubi.zone/v1alpha1",` +
			`"metadata":{"name":"a","resourceVersion":"7"},"spec":{"domainName":"www","type":"A","values":["192.0.2.2"]},"status":{}}`},
		"a manifest": {Change{After: wanted, AppliedJSON: []byte(`{"a":1}`)}, `apply {"a":1}`},
		"a deletion": {Change{Before: existing}, "delete a u 7"},
	} {
		item, err := x.Item()
		got := ""
		switch {
		case err != nil:
			t.Fatal(err)
		case item.Create != nil:
			got = "create " + string(item.Create.Raw)
		case item.Apply != nil:
			got = "apply " + string(item.Apply.Raw)
		case item.Delete != nil:
			got = strings.Join([]string{"delete", item.Delete.Name, string(item.Delete.UID), item.Delete.ResourceVersion}, " ")
		}
		if got != x.want {
			t.Errorf("%s: %s, want %s", name, got, x.want)
		}
	}
}
