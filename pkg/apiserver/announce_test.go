// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/cache"
	"k8s.io/client-go/tools/events"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/zone/law"
)

// While a zone is held back after a mass deletion, an Event of the Zone repeats the message of the condition (S7.5). A
// message above the size limit of an Event's note is cut between characters, and the last change stays readable at the
// end.
func TestHeld_isAnnounced_S7_8(t *testing.T) {
	zone := &v1alpha1.Zone{ObjectMeta: metav1.ObjectMeta{Namespace: "tenant", Name: "z"}}
	recorder := events.NewFakeRecorder(1)
	const last = "; last change: by carol at noon"
	a := announcer{recorder: recorder, queue: newEventQueue(), lastChange: func(_ context.Context, z *v1alpha1.Zone) string {
		return last[:len(last)*len(z.Name)]
	}}
	go a.writeQueued(t.Context())
	zone.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionSettled, Status: metav1.ConditionFalse,
		Reason: v1alpha1.ReasonMassDeletion, Message: "a" + strings.Repeat("ü", maxNote)}}
	a.announceHeld(zone)
	got := <-recorder.Events
	if text, ok := strings.CutPrefix(got, "Warning MassDeletion a"); !ok || len(text) > maxNote || len(text) < maxNote-10 ||
		!utf8.ValidString(text) || !strings.HasSuffix(text, "ü"+last) {
		t.Errorf("%d octets: %.60s", len(got), got)
	}
	(&announcer{}).announceHeld(zone) // standalone: to the log
}

// When a rule is removed, an Event of each affected object says until when its content stays; when the rule returns,
// another Event says so (S2.12). Events are written at a limited rate from a queue of a thousand, and further Events
// are dropped.
func TestWithdrawn_isAnnounced_S2_12(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		recorder := events.NewFakeRecorder(2 * maxQueued)
		a := announcer{recorder: recorder, queue: newEventQueue()}
		record := &v1alpha1.Record{ObjectMeta: metav1.ObjectMeta{Namespace: "tenant", Name: "r"}}
		a.announceWithdrawn(record, 1<<31, "it stays until about status.endsAt (S2.12)")
		a.announceWithdrawn(&v1alpha1.Zone{}, 0, "by zone a")
		for range 2 * maxQueued {
			a.announceWithdrawn(record, 1<<31, "")
		}
		go a.writeQueued(t.Context())
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if n := len(recorder.Events); n < 9*queuedRate || n > 12*queuedRate {
			t.Errorf("%d Events in 10 seconds", n)
		}
		time.Sleep(time.Hour)
		if n := len(recorder.Events); n != maxQueued {
			t.Errorf("%d Events in all", n)
		}
		for _, want := range []string{"Warning DelegationWithdrawn it stays until about 2038-01-19T03:14:08Z (S2.12)",
			"Normal DelegationRestored rules allow it again, and it does not end: by zone a"} {
			if got := <-recorder.Events; got != want {
				t.Errorf("%q, want %q", got, want)
			}
		}
	})
	(&announcer{}).announceWithdrawn(&v1alpha1.Record{}, 1, "") // standalone: nothing
}

// When the server refuses an update of an UpdateKey, an Event of the key gives the reason, at most once in ten seconds
// (S13.7). Another Event says that the key's name belongs to another key now (S13.3).
func TestRefused_isAnnounced_S13_7(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := announcer{recorder: events.NewFakeRecorder(9), queue: newEventQueue(), recentEvents: cache.NewLRUExpireCache(maxRefused)}
		key := &v1alpha1.UpdateKey{ObjectMeta: metav1.ObjectMeta{Namespace: "tenant", Name: "k", UID: "u"}}
		for range 5 {
			a.announceRefused(key, "REFUSED", "the reason")
			time.Sleep(4 * time.Second)
		}
		if n := a.queue.count; n != 2 {
			t.Errorf("%d Events in 20 seconds", n)
		}
		if e, _ := a.queue.dequeueEvent(); e.about.Kind != "UpdateKey" || e.reason != reasonRefused || e.note != "REFUSED: the reason" {
			t.Errorf("%+v", e)
		}
		a.queue.dequeueEvent()
		a.announceNameTaken(key, "another key")
		if e, _ := a.queue.dequeueEvent(); e.about.Kind != "UpdateKey" || e.reason != v1alpha1.ReasonKeyNameTaken ||
			e.note != "another key" {
			t.Errorf("the name of the key is lost: %+v", e)
		}
	})
}

// A record at a name such as x.example. can hide the name from the wildcard *.example. An Event of the Zone reports
// such a hidden name, at most once in ten seconds for each name; if the wildcard is a tenant's, an Event of its Record
// reports the name too (S4.25). The Zone also gets an Event if another namespace takes a host that its records point to
// (S4.26).
func TestNotices_areAnnounced_S4_25(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := announcer{recorder: events.NewFakeRecorder(9), queue: newEventQueue(), recentEvents: cache.NewLRUExpireCache(maxRefused)}
		z := &v1alpha1.Zone{ObjectMeta: metav1.ObjectMeta{Namespace: "own", Name: "z", UID: "u"}}
		a.members = func(_ context.Context, zone string, owner name.Rel, namespace string) (object, uid string, err error) {
			return fmt.Sprint("at ", owner, " in ", zone), "r", nil
		}
		hidden := func(n string) law.Notice { return law.Notice{Reason: law.NoticeNameHidden, Name: name.MustParse(n)} }
		tenant := hidden("x.example.")
		tenant.Wildcard, tenant.Namespace = name.MustRel("*"), "team"
		for range 5 {
			a.announceNotices(z, []law.Notice{hidden("x.example.")})
			time.Sleep(4 * time.Second)
		}
		a.announceNotices(z, []law.Notice{hidden("y.example."), hidden("x.example."), tenant,
			{Reason: law.NoticeHostTaken, Name: name.MustParse("x.example.")}})
		var reported []string
		for e, ok := a.queue.dequeueEvent(); ok; e, ok = a.queue.dequeueEvent() {
			host, _, _ := strings.Cut(e.note, " ")
			if e.find != nil {
				e.about.Name, _, _ = e.find(t.Context())
			}
			host = strings.TrimSuffix(host, ",")
			reported = append(reported, e.about.Kind+" "+e.about.Name+" "+e.reason+" "+host)
		}
		want := []string{"Zone z NameHidden x.example.", "Record at * in u NameHidden x.example.", "Zone z NameHidden x.example.",
			"Zone z NameHidden y.example.", "Zone z HostTaken x.example."}
		if !slices.Equal(reported, want) {
			t.Errorf("%q, want %q", reported, want)
		}
	})
}

// Thousands of refused keys of two tenants and of revoked Records of a third leave a neighbour's Event among the next
// few (attack 106).
func TestEventQueue_hasAShareForEachNamespace(t *testing.T) {
	a := announcer{recorder: events.NewFakeRecorder(1), queue: newEventQueue(), recentEvents: cache.NewLRUExpireCache(maxRefused)}
	refuse := func(namespace string, key int) {
		name := fmt.Sprintf("%s-%d", namespace, key)
		at := metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID(name)}
		a.announceRefused(&v1alpha1.UpdateKey{ObjectMeta: at}, "REFUSED", "")
	}
	for i := range 2 * maxQueued {
		refuse("mallory", i)
		refuse("trudy", i)
		a.announceWithdrawn(&v1alpha1.Record{ObjectMeta: metav1.ObjectMeta{Namespace: "oscar", Name: "r"}}, 1, "")
	}
	refuse("victim", 1)
	if a.queue.count != maxQueued || len(a.recentEvents.Keys()) > maxRefused {
		t.Errorf("%d Events wait, and %d keys are remembered", a.queue.count, len(a.recentEvents.Keys()))
	}
	counts, first := map[string]int{}, 0
	for n := 1; ; n++ {
		e, ok := a.queue.dequeueEvent()
		if !ok {
			break
		}
		if counts[e.about.Namespace]++; e.about.Namespace == "victim" {
			first = n
		}
	}
	if first == 0 || first > 4 || len(counts) != 4 {
		t.Errorf("the neighbour's is number %d of %v", first, counts)
	}
	for namespace, n := range counts {
		if namespace != "victim" && (n < maxQueued/4 || n > maxQueued/2) {
			t.Errorf("%d Events of %s", n, namespace)
		}
	}
	if len(a.queue.waiting)+len(a.queue.next)+a.queue.count > 0 {
		t.Errorf("kept: %v", a.queue)
	}
	for i := range 2 * maxQueued { // a namespace each
		a.queue.addEvent(queuedEvent{about: &corev1.ObjectReference{Namespace: fmt.Sprint(i)}})
	}
	if len(a.queue.waiting) != maxQueued || len(a.queue.next) != maxQueued {
		t.Errorf("%d namespaces wait", len(a.queue.waiting))
	}
}
