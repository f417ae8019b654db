// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"

	bind9 "kubi.zone/kubizone/api/bind9/v1alpha1"
	"kubi.zone/kubizone/pkg/apis/kubizone/validation"
)

// The status of a ClusterBind9Provider has a row for each namespace. With the maximum of namespaces it would exceed the
// API's limit for a status, so it is shortened, and still names every namespace that is not ready (S11.2).
func TestFitProviderStatus_S11_2(t *testing.T) {
	s := newConditionSet(1, nil)
	s.set(bind9.ConditionDegraded, true, ReasonApplyFailed, strings.Repeat("x", 2*maxMessage))
	status := bind9.ClusterBind9ProviderStatus{Conditions: s.conditions, Servers: bind9.ServerCount{Desired: 5000, Current: 5000,
		Ready: 4990}}
	var late []string
	for i := range validation.MaxClassNamespaces {
		row := bind9.ProvidedCluster{Namespace: fmt.Sprintf("%s-%d", strings.Repeat("n", 58), i), Ready: i%100 != 50}
		if !row.Ready {
			row.Message = strings.Repeat("a long message ", 30)
			late = append(late, row.Namespace)
		}
		status.Clusters = append(status.Clusters, row)
	}
	refused := func() bool {
		return len(validation.FleetStatusUpdate(&metav1.ObjectMeta{Name: "a", ResourceVersion: "1"}, &metav1.ObjectMeta{Name: "a",
			ResourceVersion: "1"}, status.Conditions, status.Size(), 0)) > 0
	}
	if !refused() {
		t.Fatalf("%d octets are taken as they are", status.Size())
	}
	fitProviderStatus(&status)
	var reported []string
	for _, row := range status.Clusters {
		if !row.Ready {
			reported = append(reported, row.Namespace)
		}
	}
	if refused() || !slices.Equal(reported, late) || len(status.Clusters) < 120 {
		t.Errorf("%d octets with %d clusters, not ready: %q", status.Size(), len(status.Clusters), reported)
	}
}

// Kubernetes refuses Events with a note above 1,024 octets. A message from a tenant's own agent may be longer, so the
// note and the condition are cut, at a character. A server that is no longer ready is a Warning.
func TestRecordEvents_fitsTheNote(t *testing.T) {
	recorder := events.NewFakeRecorder(9)
	f := &Fleet{Config: Config{Events: recorder}}
	for _, letter := range []string{"a", "\u00e4", "\u20ac", "\U0001f600"} {
		s := newConditionSet(1, nil)
		s.set(bind9.ConditionProgressing, true, ReasonTakingOver, strings.Repeat(letter, 1<<16/len(letter)))
		f.recordEvents(&bind9.Bind9Instance{}, s)
		note, found := strings.CutPrefix(<-recorder.Events, "Normal TakingOver Progressing=True: ")
		octets := len(note) + len("Progressing=True: ")
		if message := s.conditions[len(s.conditions)-1].Message; !found || octets > 1024 || octets < 1000 ||
			!utf8.ValidString(note) || len(message) > 1024 || !utf8.ValidString(message) {
			t.Errorf("%q: the note has %d octets, the message %d: ...%q", letter, octets, len(message), note[len(note)-8:])
		}
	}
	s := newConditionSet(1, nil)
	s.set(bind9.ConditionDegraded, true, ReasonUnavailable, "gone")
	f.recordEvents(&bind9.Bind9Instance{}, s)
	if event := <-recorder.Events; event != "Warning Unavailable Degraded=True: gone" {
		t.Error(event)
	}
}

// The reconcile that adds the finalizer also writes the status.
func TestHold_goesOnWithTheHeldObject(t *testing.T) {
	before := &bind9.Bind9Instance{ObjectMeta: metav1.ObjectMeta{Name: "a", UID: "u", ResourceVersion: "1", Finalizers: []string{"other"}}}
	now, err := addFinalizer(t.Context(), before, func(_ context.Context, name string, of types.PatchType, patch []byte,
		_ metav1.PatchOptions, _ ...string) (*bind9.Bind9Instance, error) {
		want := `{"metadata":{"finalizers":["other","bind9.kubi.zone/fleet"],"resourceVersion":"1","uid":"u"}}`
		if string(patch) != want || name != "a" || of != types.MergePatchType {
			t.Errorf("%s of %s: %s, want %s", of, name, patch, want)
		}
		after := before.DeepCopy()
		after.ResourceVersion, after.Finalizers = "2", append(after.Finalizers, Finalizer)
		return after, nil
	})
	if err != nil || now.ResourceVersion != "2" {
		t.Errorf("%v %v", now, err)
	}
	if again, err := addFinalizer(t.Context(), now, nil); err != nil || again != now {
		t.Errorf("%v %v", again, err)
	}
}

// The fleet does not change another controller's condition.
func TestStatus_keepsConditionsOfOthers(t *testing.T) {
	others := metav1.Condition{Type: bind9.ConditionDelivering, Status: metav1.ConditionFalse, Reason: "ServerUnreachable",
		Message: "its server does not answer", LastTransitionTime: metav1.NewTime(time.Unix(1000, 0))}
	s := newConditionSet(7, []metav1.Condition{others, {Type: bind9.ConditionReady, Status: metav1.ConditionFalse, Reason: ReasonNotReady}})
	s.set(bind9.ConditionReady, true, ReasonReady, "")
	if kept := meta.FindStatusCondition(s.conditions, bind9.ConditionDelivering); kept == nil || *kept != others {
		t.Errorf("Delivering is %+v, want %+v", kept, others)
	}
}
