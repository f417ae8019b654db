// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package budget

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spf13/pflag"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kubi.zone/kubizone/test/must"
)

var records = schema.GroupResource{Group: "kubi.zone", Resource: "records"}

func makeBudgets(override map[string]string) *Budgets {
	return New(Config{Limits: Limits{Stored: Stock{Percent: 25}, Written: 1 << 20},
		Quota: func() int64 { return 4 << 30 }, Override: func(namespace string) string { return override[namespace] }})
}

// A namespace has a budget of octets that it may store. A refusal gives the stored and the allowed size and says what
// to do next, and a write that adds nothing passes. An annotation of the namespace replaces the limit of the flag.
// While the stock is counted again, the former count still limits writes (S9.1).
func TestBudgets_stored_S9_1(t *testing.T) {
	b := makeBudgets(map[string]string{"small": "stored=1Mi", "free": "stored=unlimited", "wrong": "stored=lots"})
	write := func(namespace string, grows int64) error {
		return b.Admit(Write{Resource: records, Namespace: namespace, Name: "www", Grows: grows})
	}
	if err := write("a", 2<<30); err != nil {
		t.Errorf("before the stock is known: %v", err)
	}
	b.BeginCount()
	for _, namespace := range []string{"a", "small", "free", "wrong"} {
		b.Add(namespace, 1<<30)
	}
	b.EndCount()
	err := write("a", 1<<10)
	for _, part := range []string{"stores 1024.0 MiB", "the limit is 1024.0 MiB", "would add 1.0 KiB", "delete objects", "kubi.zone/budget"} {
		if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), part) {
			t.Errorf("%q is not in %v", part, err)
		}
	}
	if err := write("a", 0); err != nil {
		t.Errorf("it does not grow: %v", err)
	}
	if err := write("free", 1<<40); err != nil {
		t.Errorf("unlimited: %v", err)
	}
	if err := write("wrong", 1<<10); !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "the limit is 1024.0 MiB") {
		t.Errorf("an annotation that is not understood: %v", err)
	}
	b.BeginCount()
	if err := write("a", 1<<10); !apierrors.IsForbidden(err) {
		t.Errorf("while it is counted anew: %v", err)
	}
	b.Add("a", 1<<20)
	b.EndCount()
	if err := write("a", 1<<10); err != nil {
		t.Errorf("most of it is gone: %v", err)
	}
	if err := write("small", 2<<20); !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "the limit is 1.0 MiB") {
		t.Errorf("its own limit: %v", err)
	}
	b.Add("a", -1<<20)
}

// S9.2: a minute's worth passes at once, then the rate; silence restores all. Any charge is over within a minute.
func TestBudgets_written_S9_2(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := makeBudgets(map[string]string{"fast": "written=1Gi"})
		admits := func(namespace string) error {
			return b.Admit(Write{Resource: records, Namespace: namespace, Name: "www"})
		}
		written := 0
		for admits("a") == nil {
			b.Charge("a", 100<<10)
			written += 100 << 10
		}
		if written < 60<<20 || written > 61<<20 {
			t.Errorf("%d octets at once", written)
		}
		for began := time.Now(); time.Since(began) < 10*time.Minute; time.Sleep(time.Second / 50) {
			if admits("a") == nil {
				b.Charge("a", 100<<10)
				written += 100 << 10
			}
		}
		if most := (60 + 600 + 1) << 20; written > most || written < most-2<<20 {
			t.Errorf("%d octets in ten minutes, want %d", written, most)
		}
		b.Charge("a", 1<<30) // deletions pass, but are charged
		err := admits("a")
		status, _ := err.(apierrors.APIStatus)
		if !apierrors.IsTooManyRequests(err) || status.Status().Details.RetryAfterSeconds != 30 || !strings.Contains(err.Error(), "has written 120.0 MiB") || !strings.Contains(err.Error(), "the limit is 60.0 MiB") || !strings.Contains(err.Error(), "1m1s") {
			t.Errorf("%v", err)
		}
		time.Sleep(30 * time.Second)
		later, ok := admits("a").(apierrors.APIStatus)
		if !ok || !slices.Equal(later.Status().Details.Causes, status.Status().Details.Causes) {
			t.Errorf("the cause, which a status keeps, is another one after a while: %v", later)
		}
		time.Sleep(31 * time.Second)
		if err := admits("a"); err != nil {
			t.Errorf("a minute after a cascade of any size: %v", err)
		}
		b.Charge("fast", 1<<30)
		for what, namespace := range map[string]string{"another": "b", "one that may": "fast"} {
			if err := admits(namespace); err != nil {
				t.Errorf("%s: %v", what, err)
			}
		}
		time.Sleep(20 * time.Minute)
		if err := admits("a"); err != nil {
			t.Errorf("after it was quiet: %v", err)
		}
		b.Charge("c", 1)
		time.Sleep(2 * sweepEvery)
		b.Charge("c", 1)
		if n := len(b.accounts); n != 1 {
			t.Errorf("%d accounts of namespaces that have nothing", n)
		}
	})
}

func TestBudgets_measureNamespaces(t *testing.T) {
	b := makeBudgets(map[string]string{"n19": "stored=unlimited"})
	b.BeginCount()
	for i := range 20 {
		b.Add(fmt.Sprintf("n%d", i), int64(i+1)<<20)
		b.Charge(fmt.Sprintf("n%d", i), (20-i)<<20)
	}
	b.EndCount()
	stored, written := b.measureNamespaces()
	if len(stored) != 20 || stored["n19"] != (sample{20 << 20, 0}) || stored["n18"] != (sample{19 << 20, 1 << 30}) {
		t.Errorf("%v", stored)
	}
	if len(written) != 20 || written["n0"].used <= written["n1"].used || written["n0"].limit != 60<<20 {
		t.Errorf("%v", written)
	}
}

// S9.1: stored and pending clusters stay within the limit together. A refusal has the figures and the next step, and
// takes no slot.
func TestBudgets_clusters_S9_1(t *testing.T) {
	b := New(Config{Limits: Limits{Clusters: 3}, Quota: func() int64 { return 0 }, Override: func(namespace string) string {
		return map[string]string{"more": "clusters=4", "free": "clusters=unlimited"}[namespace]
	}})
	clusters, stored := schema.GroupResource{Group: "bind9.kubi.zone", Resource: "bind9clusters"}, map[string]int64{"a": 1, "more": 3, "free": 1000}
	create := func(namespace string) (func(), error) {
		return b.AdmitCluster(clusters, namespace, "edge", func() (int64, error) { return stored[namespace], nil })
	}
	var under []func()
	for range 2 {
		done := must.Get(create("a"))(t)
		under = append(under, done)
	}
	for range 2 {
		_, err := create("a")
		for _, part := range []string{`bind9clusters.bind9.kubi.zone "edge" is forbidden`, "namespace a has 1 Bind9Clusters and is creating 3", "the limit is 3 (S9.1)", "delete one", "kubi.zone/budget", "clusters=6"} {
			if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), part) {
				t.Errorf("%q is not in %v", part, err)
			}
		}
	}
	stored["a"]++ // stored, but still pending
	if _, err := create("a"); !apierrors.IsForbidden(err) {
		t.Errorf("while it counts twice: %v", err)
	}
	under[0]()
	under[1]() // pending, never stored
	if done, err := create("a"); err != nil {
		t.Errorf("the last place: %v", err)
	} else {
		done()
	}
	for _, namespace := range []string{"more", "free", "another"} {
		if done, err := create(namespace); err != nil {
			t.Errorf("%s: %v", namespace, err)
		} else {
			done()
		}
	}
	if _, err := b.AdmitCluster(clusters, "a", "edge", func() (int64, error) { return 0, errors.New("etcd is away") }); err == nil || apierrors.IsForbidden(err) {
		t.Errorf("what is stored is not known: %v", err)
	}
	if len(b.creating) > 0 {
		t.Errorf("under way at the end: %v", b.creating)
	}
}

// S9.3: an annotation overrides any of the flags.
func TestLimits_override_S9_3(t *testing.T) {
	for text, want := range map[string]string{
		"stored=25%,written=2Mi": "{{25 0} 2097152 7}", "stored=1Gi": "{{0 1073741824} 1048576 7}", "written=unlimited": "{{25 0} 0 7}", "stored=unlimited, written=10M": "{{0 0} 10000000 7}",
		"clusters=50": "{{25 0} 1048576 50}", "written=2Mi,clusters=unlimited": "{{25 0} 2097152 0}", "clusters=0": "", "clusters=-1": "", "clusters=2Ki": "", "clusters=many": "", "clusters=9999999999": "",
		"stored=0%": "", "stored=101%": "", "stored=NaN%": "", "stored=-1": "", "written=25%": "", "stored": "", "more=1": "", "": "", "written=1e30": "",
	} {
		got, err := Limits{Stored: Stock{Percent: 25}, Written: 1 << 20, Clusters: 7}.Override(text)
		if message := fmt.Sprint(got); (err != nil) != (want == "") || err == nil && message != want {
			t.Errorf("%q: %s %v, want %s", text, message, err, want)
		}
	}
	set := Default
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	set.AddFlag(flags)
	if err := flags.Parse([]string{"--namespace-budget", "written=unlimited"}); err != nil || set.Stored != Default.Stored ||
		set.Written != 0 {
		t.Errorf("%v: %+v", err, set)
	}
	if same, err := (Limits{}).Override(form); err != nil || same != Default {
		t.Errorf("%v: %+v", err, same)
	}
	if err := flags.Parse([]string{"--namespace-budget", "written=fast"}); err == nil ||
		!strings.Contains(err.Error(), "write octets a second like 2Mi") {
		t.Error(err)
	}
}
