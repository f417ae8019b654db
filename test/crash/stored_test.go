// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package crash

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/test/must"
)

const stored = "/registry/kubizone/"

// flipBit changes a bit of the word in a value below the prefix. undo restores the value.
func flipBit(ctx context.Context, t *testing.T, etcd *clientv3.Client, prefix, word string) (key string, undo func()) {
	t.Helper()
	found := must.Get(etcd.Get(ctx, prefix, clientv3.WithPrefix()))(t)
	for _, kv := range found.Kvs {
		at := bytes.Index(kv.Value, []byte(word))
		if at < 0 {
			continue
		}
		damaged := slices.Clone(kv.Value)
		damaged[at+len(word)-1] ^= 1
		put := func(value []byte) {
			t.Helper()
			must.Get(etcd.Put(ctx, string(kv.Key), string(value)))(t)
		}
		put(damaged)
		return string(kv.Key), func() { put(kv.Value) }
	}
	t.Fatalf("nothing below %s has %q", prefix, word)
	return "", nil
}

// F30: a bit of a stored record flips. At the next read, the zone's hash reveals the damage: the zone is frozen and
// not served, neither by entries nor by transfer. Every other zone is served, fsck names the key, and a primary with
// the verified zone keeps serving its copy.
func TestF30_bitFlippedInARecord(t *testing.T) {
	w := requireWorld(t)
	ctx := within(t, 3*waitTimeout)
	e := startEtcd(ctx, t, 1, false)
	one := w.startServer(ctx, t, e.listEndpoints())
	l := w.newLoad(ctx, t, one)
	team := listTeams()[0]
	for name, domain := range map[string]string{"marked": "marked.one.test.", "other": "other.two.test."} {
		l.makeWrite(team+"/"+name, "flipmarked", func(ctx context.Context) (*v1alpha1.Record, error) {
			return l.clients[0].Records(team).Create(ctx, makeTXT(team, name, domain, "flipmarked"), metav1.CreateOptions{})
		})
	}
	before := w.startPrimary(ctx, t, one)
	until(ctx, t, "the primary has the zone", func() error { _, err := transferZone(before.dns, "one.test."); return err })

	key, undo := flipBit(ctx, t, connectMembers(t, e.members[0]), stored+"kubi.zone/records/"+team+"/marked", "flipmarked")
	if message, clean, _ := w.runFsck(ctx, e); clean || !strings.Contains(message, "/marked") {
		t.Errorf("fsck does not say that %s is damaged:\n%s", key, message)
	}
	one.startReplica(ctx, t)
	zones := l.clients[0].Zones(owner)
	if _, _, _, err := readEntries(ctx, l.clients[0], must.Get(zones.Get(ctx, "one", metav1.GetOptions{}))(t)); !apierrors.IsStoreReadError(
		err) {
		t.Errorf("entries of the damaged zone: %v", err)
	}
	if _, _, text, err := readEntries(ctx, l.clients[0], must.Get(zones.Get(ctx, "two", metav1.GetOptions{}))(t)); err != nil ||
		!strings.Contains(text, "flipmarked") {
		t.Errorf("entries of another zone: %v", err)
	}
	if log := one.Log(); !strings.Contains(log, "A zone is frozen") {
		t.Errorf("the server does not say that a zone is frozen")
	}
	after := w.startPrimary(ctx, t, one)
	until(ctx, t, "a new primary has the other zone", func() error { _, err := transferZone(after.dns, "two.test."); return err })
	if rrs, err := transferZone(after.dns, "one.test."); err == nil {
		t.Errorf("a new primary hands out the damaged zone: %v", rrs)
	}
	if rrs, err := transferZone(before.dns, "one.test."); err != nil || !strings.Contains(fmt.Sprint(rrs), "flipmarked") {
		t.Errorf("the primary that had it proven: %v, %v", rrs, err)
	}
	undo()
	one.startReplica(ctx, t)
	w.checkAll(ctx, t, l, e, one)
}

const damaged = "flipmarkee"

// F30: a bit of a journal flips. fsck names the step. Servers show content that matches the zone's hash, as before,
// and tell no client the changes of the damaged step, neither by the API nor by IXFR.
func TestF30_bitFlippedInAJournal(t *testing.T) {
	w := requireWorld(t)
	ctx := within(t, 3*waitTimeout)
	e := startEtcd(ctx, t, 1, false)
	one, other := w.startServer(ctx, t, e.listEndpoints()), w.startServer(ctx, t, e.listEndpoints())
	l := w.newLoad(ctx, t, one, other)
	team := listTeams()[0]
	write := func(name, value string) {
		t.Helper()
		if _, ok := l.makeWrite(team+"/"+name, value, func(ctx context.Context) (*v1alpha1.Record, error) {
			return l.clients[0].Records(team).Create(ctx, makeTXT(team, name, name+".one.test.", value), metav1.CreateOptions{})
		}); !ok {
			t.Fatalf("%s was not written", name)
		}
	}
	since := must.Get(l.clients[0].Zones(owner).Get(ctx, "one", metav1.GetOptions{}))(t).Status.Serial
	follower := w.startPrimary(ctx, t, one)
	until(ctx, t, "the primary has the zone", func() error { _, err := transferZone(follower.dns, "one.test."); return err })
	write("marked", "flipmarked")
	write("later", "later")
	// reported: servers and the primary answer the changes as written, or that the journal no longer has them.
	reported := func(when string) {
		t.Helper()
		answers := map[string]string{}
		for n, from := range l.clients {
			body, err := from.RESTClient().Get().Namespace(owner).Resource("zones").Name("one").SubResource("changes").
				Param("since", fmt.Sprint(since)).Param("format", "text").Do(ctx).Raw()
			answers[fmt.Sprintf("server %d", n)] = fmt.Sprintf("%s %v", body, err)
		}
		all, err := transferChanges(follower.dns, "one.test.", uint32(since))
		answers["the primary"] = fmt.Sprintf("%v %v", all, err)
		for who, message := range answers {
			if strings.Contains(message, damaged) || !strings.Contains(message, "flipmarked") && !strings.Contains(message, "is no longer kept here") {
				t.Errorf("%s, %s says of the damaged step:\n%s", when, who, message)
			}
		}
	}
	key, undo := flipBit(ctx, t, connectMembers(t, e.members[0]), stored+"ledger/journal/", "flipmarked")
	if message, clean, _ := w.runFsck(ctx, e); clean || !strings.Contains(message, key) {
		t.Errorf("fsck does not name %s:\n%s", key, message)
	}
	reported("as they run")
	write("after", "after")
	w.expectAgreement(ctx, t, one, other)
	one.startReplica(ctx, t)
	reported("after a restart")
	w.expectAgreement(ctx, t, one, other)
	undo()
	w.checkAll(ctx, t, l, e, one, other)
}
