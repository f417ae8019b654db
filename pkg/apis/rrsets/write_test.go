// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package rrsets

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clienttesting "k8s.io/client-go/testing"

	"kubi.zone/kubizone/api/client/clientset/versioned/fake"
	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/apis/refusal"
	"kubi.zone/kubizone/test/must"
)

// newWriter returns a Writer on a fake API, and the list of change sets sent. answer gets the object names of the items
// in a change set, and returns a reason for each refused item.
func newWriter(records []runtime.Object, answer func([]string) (map[int]metav1.StatusReason, error)) (w *Writer,
	sets *[]string) {
	client := fake.NewSimpleClientset(records...)
	sets = new([]string)
	client.PrependReactor("create", "changesets", func(action clienttesting.Action) (bool, runtime.Object, error) {
		set := action.(clienttesting.CreateAction).GetObject().(*v1alpha1.ChangeSet).DeepCopy()
		var objects []string
		for _, item := range set.Spec.Items {
			operation, object := v1alpha1.OperationDeleted, ""
			if item.Delete != nil {
				object = item.Delete.Name
			} else {
				_, after, _ := strings.Cut(string(item.Create.Raw), `"name":"`)
				object, _, _ = strings.Cut(after, `"`)
				operation = v1alpha1.OperationCreated
			}
			objects = append(objects, object)
			set.Status.Items = append(set.Status.Items, v1alpha1.ChangeSetItemStatus{Name: object, Operation: operation})
		}
		*sets = append(*sets, strings.Join(objects, " "))
		refused, err := answer(objects)
		if len(refused) > 0 {
			status := metav1.Status{Code: 422, Reason: metav1.StatusReasonInvalid, Details: &metav1.StatusDetails{Kind: "ChangeSet"}}
			for i, reason := range refused {
				status.Details.Causes = append(status.Details.Causes, metav1.StatusCause{Type: metav1.CauseType(reason),
					Field: refusal.ItemPath(i).String(), Message: "no"})
			}
			err = &apierrors.StatusError{ErrStatus: status}
		}
		return true, set, err
	})
	return &Writer{Client: client.KubizoneV1alpha1(), Namespace: "team", Manager: manager}, sets
}

func creations(objects ...string) (changes []Change) {
	for _, object := range objects {
		changes = append(changes, Change{After: makeRecord(object, nil, "192.0.2.1")})
	}
	return changes
}

func describeOutcomes(outcomes []Outcome) (texts []string) {
	for _, o := range outcomes {
		text := o.Change.Record().Name + " " + o.Operation
		for _, one := range o.Refusals {
			text += string(one.Reason)
		}
		texts = append(texts, text)
	}
	return texts
}

func TestWrite_leavesOutWhatIsRefused(t *testing.T) {
	w, sets := newWriter(nil, func(objects []string) (map[int]metav1.StatusReason, error) {
		if i := slices.Index(objects, "b"); i >= 0 {
			return map[int]metav1.StatusReason{i: metav1.StatusReasonForbidden}, nil
		}
		return nil, nil
	})
	var contexts []int
	w.Context = func(ctx context.Context, indices []int) context.Context {
		contexts = append(contexts, indices...)
		return ctx
	}
	got := describeOutcomes(must.Get(w.Write(t.Context(), creations("a", "b", "c")))(t))
	if want := []string{"a Created", "b Forbidden", "c Created"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if want := []string{"a b c", "a c"}; !slices.Equal(*sets, want) || !slices.Equal(contexts, []int{0, 1, 2, 0, 2}) {
		t.Errorf("sent %q for %d", *sets, contexts)
	}
}

func TestWrite_halvesWhatEtcdDoesNotTake(t *testing.T) {
	w, sets := newWriter(nil, func(objects []string) (map[int]metav1.StatusReason, error) {
		if len(objects) > 2 || slices.Contains(objects, "d") {
			return nil, apierrors.NewRequestEntityTooLargeError("the transaction has too many operations")
		}
		return nil, nil
	})
	got := describeOutcomes(must.Get(w.Write(t.Context(), creations("a", "b", "c", "d")))(t))
	if want := []string{"a Created", "b Created", "c Created", "d RequestEntityTooLarge"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if want := []string{"a b c d", "a b", "c d", "c", "d"}; !slices.Equal(*sets, want) {
		t.Errorf("sent %q", *sets)
	}
}

func TestWrite_replansIfTheRecordIsAnotherOne(t *testing.T) {
	existing := makeRecord("b", nil, "192.0.2.9")
	existing.Namespace = "team"
	w, sets := newWriter([]runtime.Object{existing}, func(objects []string) (refused map[int]metav1.StatusReason, err error) {
		refused = map[int]metav1.StatusReason{}
		for i, object := range objects {
			if object == "b" {
				refused[i] = metav1.StatusReasonAlreadyExists
			} else if object == "gone" {
				refused[i] = metav1.StatusReasonNotFound
			}
		}
		return refused, nil
	})
	w.Replan = func(_ context.Context, i int, now *v1alpha1.Record) (*Change, error) {
		if i == 2 {
			if now != nil {
				t.Errorf("%s is there", now.Name)
			}
			return nil, nil
		}
		if i != 1 || now.Spec.Values[0] != "192.0.2.9" {
			t.Errorf("change %d is made anew of %v", i, now)
		}
		return &Change{After: makeRecord("b2", nil)}, nil
	}
	changes := append(creations("a", "b"), Change{Before: makeRecord("gone", nil)})
	got := describeOutcomes(must.Get(w.Write(t.Context(), changes))(t))
	if want := []string{"a Created", "b2 Created", "gone "}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if want := []string{"a b gone", "a b2"}; !slices.Equal(*sets, want) {
		t.Errorf("sent %q, want %q", *sets, want)
	}
	// A change set cannot contain a patch, because its items are whole objects.
	w.Replan = func(_ context.Context, _ int, now *v1alpha1.Record) (*Change, error) {
		return &Change{Before: now, After: makeRecord("b", nil, "192.0.2.1")}, nil
	}
	*sets = nil
	got = describeOutcomes(must.Get(w.Write(t.Context(), creations("a", "b", "c")))(t))
	if want := []string{"a Created", "b Updated", "c Created"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if want := []string{"a b c", "a c"}; !slices.Equal(*sets, want) {
		t.Errorf("sent %q, want %q", *sets, want)
	}
	w.Replan = func(context.Context, int, *v1alpha1.Record) (*Change, error) { return &creations("b")[0], nil }
	got = describeOutcomes(must.Get(w.Write(t.Context(), creations("b")))(t))
	if want := []string{"b AlreadyExists"}; !slices.Equal(got, want) {
		t.Errorf("what others keep changing: %q, want %q", got, want)
	}
}

// Every change gets the same number of attempts, even if changes before it keep failing.
func TestWrite_ends(t *testing.T) { synctest.Test(t, testAttempts) }

func testAttempts(t *testing.T) {
	sent := 0
	w, sets := newWriter(nil, func(objects []string) (map[int]metav1.StatusReason, error) {
		if sent++; sent > 100 {
			t.Fatalf("%d change sets are sent, the last of %q", sent, objects)
		}
		if sent <= maxAttempts {
			return map[int]metav1.StatusReason{0: metav1.StatusReasonConflict}, nil
		}
		return map[int]metav1.StatusReason{len(objects) - 1: metav1.StatusReasonConflict}, nil
	})
	w.Replan = func(_ context.Context, i int, _ *v1alpha1.Record) (*Change, error) {
		return &creations("a", "b", "c")[i], nil
	}
	got := describeOutcomes(must.Get(w.Write(t.Context(), creations("a", "b", "c")))(t))
	if want := []string{"a Conflict", "b Conflict", "c Conflict"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q after %d change sets", got, want, len(*sets))
	}
	sent = maxAttempts
	w, _ = newWriter(nil, func(objects []string) (map[int]metav1.StatusReason, error) {
		if sent++; sent > 100 {
			t.Fatalf("%d change sets are sent, the last of %q", sent, objects)
		}
		return map[int]metav1.StatusReason{len(objects): metav1.StatusReasonInvalid}, nil // an item out of range
	})
	got = describeOutcomes(must.Get(w.Write(t.Context(), creations("a", "b")))(t))
	if want := []string{"a Invalid", "b Invalid"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// The server updates the status of many Records in turn, so each attempt of a change set meets a conflict at another
// Record. The Writer reads every such Record again, and succeeds although there are more conflicts than attempts.
func TestWrite_readsAllRecordsAgainThatChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var objects []runtime.Object
		var page []Change
		for i := range 3 * maxAttempts {
			r := makeRecord(fmt.Sprint("r", i), nil, "192.0.2.1")
			r.Namespace, r.UID = "team", types.UID(r.Name)
			objects, page = append(objects, r), append(page, Change{Before: r})
		}
		fresh := map[int]bool{}
		w, sets := newWriter(objects, func([]string) (map[int]metav1.StatusReason, error) {
			for i := range page {
				if !fresh[i] {
					return map[int]metav1.StatusReason{i: metav1.StatusReasonConflict}, nil
				}
			}
			return nil, nil
		})
		w.Replan = func(_ context.Context, i int, now *v1alpha1.Record) (*Change, error) {
			fresh[i] = true
			return &Change{Before: now}, nil
		}
		for i, o := range must.Get(w.Write(t.Context(), page))(t) {
			if o.Operation != v1alpha1.OperationDeleted {
				t.Errorf("record %d: %+v after %d change sets", i, o.Refusals, len(*sets))
			}
		}
	})
}

// A change set is refused because one item is forbidden and another comes too early. The HTTP client does not retry,
// because the answer as a whole is not a 429, so the Writer must send the other items again.
func TestWrite_repeatsWhatWaits(t *testing.T) {
	for _, later := range []metav1.StatusReason{metav1.StatusReasonTooManyRequests, metav1.StatusReason(v1alpha1.CauseWritesTooFast)} {
		w, sets := newWriter(nil, func(objects []string) (map[int]metav1.StatusReason, error) {
			if i := slices.Index(objects, "b"); i >= 0 {
				return map[int]metav1.StatusReason{i: metav1.StatusReasonForbidden, 2: later}, nil
			}
			return nil, nil
		})
		got := describeOutcomes(must.Get(w.Write(t.Context(), creations("a", "b", "c")))(t))
		if want := []string{"a Created", "b Forbidden", "c Created"}; !slices.Equal(got, want) || len(*sets) != 2 {
			t.Errorf("%s: %q, want %q, after %q", later, got, want, *sets)
		}
		// All refusals are retryable, and the client has retried them already.
		w, sets = newWriter(nil, func([]string) (map[int]metav1.StatusReason, error) {
			return map[int]metav1.StatusReason{0: later}, nil
		})
		got = describeOutcomes(must.Get(w.Write(t.Context(), creations("a", "b")))(t))
		if got[0] != "a "+string(later) || len(*sets) > 2*maxAttempts {
			t.Errorf("%s: %q after %q", later, got, *sets)
		}
	}
}

func TestWrite_sendsAloneWhatNoChangeSetHas(t *testing.T) {
	existing := makeRecord("a", nil, "192.0.2.9")
	existing.Namespace, existing.Spec.RData = "team", "192.0.2.8"
	w, sets := newWriter([]runtime.Object{existing}, func([]string) (map[int]metav1.StatusReason, error) { return nil, nil })
	for want, c := range map[string]Change{
		"a Updated": {Before: existing, After: makeRecord("a", nil, "192.0.2.1", "192.0.2.2")},
		"b Created": {After: makeRecord("b", nil), Separate: true},
	} {
		if got := describeOutcomes(must.Get(w.Write(t.Context(), []Change{c}))(t)); got[0] != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	now := must.Get(w.Client.Records("team").Get(t.Context(), "a", metav1.GetOptions{}))(t)
	if now.Spec.RData != "" || len(now.Spec.Values) != 2 || len(*sets) > 0 {
		t.Errorf("%+v, %q", now.Spec, *sets)
	}
	now.Finalizers = []string{"test/held"}
	got := describeOutcomes(must.Get(w.Write(t.Context(), []Change{{Before: now}}))(t))
	if got[0] != "a Deleted" || len(*sets) > 0 {
		t.Errorf("%q, %q", got, *sets)
	}
	got = describeOutcomes(must.Get(w.Write(t.Context(), []Change{{Before: now, After: existing}}))(t))
	if got[0] != "a NotFound" {
		t.Errorf("a patch of nothing: %q", got)
	}
}

func TestWrite_endsWhereTheCallerMayNotCreateChangeSets(t *testing.T) {
	forbidden := apierrors.NewForbidden(v1alpha1.Resource("changesets"), "", errors.New("no right"))
	w, sets := newWriter(nil, func([]string) (map[int]metav1.StatusReason, error) { return nil, forbidden })
	if _, err := w.Write(t.Context(), creations("a", "b")); !apierrors.IsForbidden(err) || len(*sets) != 1 {
		t.Errorf("%v after %q", err, *sets)
	}
}

func TestRetry_waitsAsTheServerSays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began, tried := time.Now(), 0
		must.Get(Retry(t.Context(), func() (string, error) {
			if tried++; tried == 1 {
				return "", apierrors.NewTooManyRequests("busy", 7)
			} else if tried == 2 {
				return "", apierrors.NewInternalError(errors.New("stumbled"))
			}
			return "", nil
		}))(t)
		if elapsed := time.Since(began); elapsed != 7400*time.Millisecond {
			t.Errorf("it took %v", elapsed)
		}
		_, err := Retry(t.Context(), func() (string, error) { return "", apierrors.NewServiceUnavailable("down") })
		if err == nil || !strings.Contains(err.Error(), "tried 6 times") {
			t.Errorf("%v", err)
		}
		// A user who waits no longer reads for what, whether the time ends in a request or between two.
		for _, inRequest := range []bool{true, false} {
			ctx, cancel := context.WithTimeout(t.Context(), 2500*time.Millisecond)
			defer cancel()
			tried := 0
			_, err := Retry(ctx, func() (string, error) {
				if tried++; tried > 1 && inRequest {
					<-ctx.Done()
					return "", ctx.Err()
				}
				return "", apierrors.NewTooManyRequests("two histories are read already", 1)
			})
			if !apierrors.IsTooManyRequests(err) || !errors.Is(err, context.DeadlineExceeded) ||
				!strings.Contains(err.Error(), "two histories") {
				t.Errorf("at the end of the time: %v", err)
			}
		}
	})
}
