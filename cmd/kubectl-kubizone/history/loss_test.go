// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package history_test

import (
	"context"
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/cmd/kubizone/up"
	"kubi.zone/kubizone/pkg/client/history"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/rig"
	"kubi.zone/kubizone/test/standalone"
)

// A tenant changes its name in the owner's zone, and then fills its share of the history by writes in another zone. Its
// steps in the owner's zone lose their values. The owner still undoes its own mistake, and diff
// and show lack the tenant's name alone.
func TestRevert_besideATenantBeyondItsShare(t *testing.T) {
	server := standalone.Start(t, func(o *up.Options) { o.QuotaBytes = 48 << 20 }) // 1.2 MiB of history for a namespace
	w := newWorldOf(t, server, "own.test", "platform", "mallory")
	other := newWorldOf(t, server, "other.test", "mallory")
	for i := range 5 {
		w.putRecord("alice", "platform", fmt.Sprint("host", i), fmt.Sprint("host", i), fmt.Sprint("192.0.2.", i+1), nil)
	}
	w.putRecord("mallory", "mallory", "m", "m", "203.0.113.1", nil)
	good, text := w.readZone().Status.Serial, w.readEntries()
	for i := range 160 { // more than the journal keeps
		w.putRecord("mallory", "mallory", "m", "m", fmt.Sprint("203.0.113.", 2+i), nil)
	}
	for i := range 3 {
		must.Succeed(t, w.up.KubizoneV1alpha1().Records("platform").Delete(t.Context(), fmt.Sprint("host", i), metav1.DeleteOptions{}))
	}

	random := rand.New(rand.NewPCG(6, 2))
	flood := &v1alpha1.Record{ObjectMeta: metav1.ObjectMeta{Name: "flood"}, Spec: v1alpha1.RecordSpec{DomainName: "flood.other.test.",
		Type: "TXT", Values: []string{"x"}}}
	records := other.up.KubizoneV1alpha1().Records("mallory")
	flood = must.Get(records.Create(t.Context(), flood, metav1.CreateOptions{}))(t)
	reader := &history.Reader{Client: w.up.KubizoneV1alpha1()}
	// The oldest steps are the zone, five hosts, the tenant's creation, and its first change.
	for isLost, began := false, time.Now(); !isLost; {
		for range 5 {
			flood.Spec.Values = nil
			for range 12 {
				noise := make([]byte, 3000)
				for i := range noise {
					noise[i] = byte(random.Uint32())
				}
				flood.Spec.Values = append(flood.Spec.Values, base64.StdEncoding.EncodeToString(noise))
			}
			flood = must.Get(records.Update(t.Context(), flood, metav1.UpdateOptions{}))(t)
		}
		past := must.Get(reader.Read(t.Context(), w.makeSubject("platform"), nil))(t)
		isLost = past.Steps[len(past.Steps)-8].Condensed
		if time.Since(began) > 3*time.Minute {
			t.Fatal("no step has lost its values")
		}
	}

	lost := regexp.MustCompile(`(?m)^; values before changes by namespace mallory from serial \d+ to \d+ are no longer kept: ` +
		`m.own.test. A$`)
	diff, code := w.runLine("alice", fmt.Sprintf("diff own.test %d", good))
	if code != 1 || strings.Count(diff, "\n- host") != 3 || strings.Contains(diff, " A 203.0.113.") || !lost.MatchString(diff) {
		t.Errorf("diff: code %d\n%s", code, diff)
	}
	shown, code := w.runLine("alice", fmt.Sprintf("show own.test@%d", good))
	tenants := regexp.MustCompile(`(?m)^m\.own\.test\..*\n`)
	_, file, _ := strings.Cut(shown, "\n")
	if want := tenants.ReplaceAllString(text, ""); code != 0 || file != want || want == text || !lost.MatchString(shown) {
		t.Errorf("show: code %d\n%s\nwant\n%s", code, shown, want)
	}
	plan, code := w.runLine("alice", fmt.Sprintf("revert own.test --to %d --plan", good))
	if code != 1 || strings.Count(plan, "\n+ host") != 3 || strings.Count(plan, "\n- ")+strings.Count(plan, "\n~ ") > 0 {
		t.Errorf("plan: code %d\n%s", code, plan)
	}
	t.Logf("%s\n%s", diff, plan)
	w.expectLine("alice", fmt.Sprintf("revert own.test --to %d --yes", good), 0, "3 Records written")
	if got := w.readEntries(); strings.Count(got, "\nhost") != 5 || !strings.Contains(got, "203.0.113.161") {
		t.Errorf("after the revert\n%s", got)
	}
}

// A tenant does its worst against the owner's undo: it rewrites and deletes its names in the owner's zone, fills its
// share of the history by a flood in another zone, makes and deletes a zone below the owner's, and reads without end.
// In each round the owner deletes three Records by mistake, and takes them back. The long form goes on for ten minutes.
func TestRevert_besideATenantsWorst(t *testing.T) {
	lasts := 20 * time.Second
	if rig.Long() {
		lasts = 10 * time.Minute
	}
	server := standalone.Start(t, func(o *up.Options) { o.QuotaBytes = 1 << 30 }) // 25 MiB of history for a namespace
	w := newWorldOf(t, server, "own.test", "platform", "mallory")
	newWorldOf(t, server, "other.test", "mallory")
	for i := range 5 {
		w.putRecord("alice", "platform", fmt.Sprint("host", i), fmt.Sprint("host", i), fmt.Sprint("192.0.2.", i+1), nil)
	}
	mallory := w.makeClient("mallory", nil).KubizoneV1alpha1()
	ctx, cancel := context.WithTimeout(t.Context(), lasts)
	var attacks sync.WaitGroup
	defer attacks.Wait()
	defer cancel()
	// Refusals, such as of a spent budget, end no attack.
	attack := func(try func(n int)) {
		attacks.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				try(n)
			}
		})
	}
	put := func(object, domain, rrtype string, values ...string) {
		r := &v1alpha1.Record{ObjectMeta: metav1.ObjectMeta{Name: object}, Spec: v1alpha1.RecordSpec{DomainName: domain, Type: rrtype,
			Values: values}}
		if now, err := mallory.Records("mallory").Get(ctx, object, metav1.GetOptions{}); err == nil {
			now.Spec = r.Spec
			_, _ = mallory.Records("mallory").Update(ctx, now, metav1.UpdateOptions{})
			return
		}
		_, _ = mallory.Records("mallory").Create(ctx, r, metav1.CreateOptions{})
	}
	attack(func(n int) { put("m", "m.own.test.", "A", fmt.Sprint("203.0.113.", n%250)) })
	attack(func(n int) {
		object := fmt.Sprint("short", n%50)
		put(object, object+".own.test.", "A", "203.0.113.1")
		_ = mallory.Records("mallory").Delete(ctx, object, metav1.DeleteOptions{})
	})
	random := rand.New(rand.NewPCG(6, 2))
	attack(func(int) {
		var values []string
		for range 12 {
			noise := make([]byte, 3000)
			for i := range noise {
				noise[i] = byte(random.Uint32())
			}
			values = append(values, base64.StdEncoding.EncodeToString(noise))
		}
		put("flood", "flood.other.test.", "TXT", values...)
	})
	attack(func(int) {
		zone := &v1alpha1.Zone{ObjectMeta: metav1.ObjectMeta{Name: "below"}, Spec: v1alpha1.ZoneSpec{DomainName: "below.own.test."}}
		_, _ = mallory.Zones("mallory").Create(ctx, zone, metav1.CreateOptions{})
		_ = mallory.Zones("mallory").Delete(ctx, "below", metav1.DeleteOptions{})
	})
	attack(func(int) {
		_, _ = mallory.RESTClient().Get().Namespace("mallory").Resource("records").Name(v1alpha1.AllRecords).SubResource("changes").
			Param("fqdn", "none.own.test").DoRaw(ctx)
	})

	rounds, longest := 0, time.Duration(0)
	for began := time.Now(); rounds < 3 || time.Since(began) < lasts; rounds++ {
		good := w.readZone().Status.Serial
		for i := range 3 {
			must.Succeed(t, w.up.KubizoneV1alpha1().Records("platform").Delete(t.Context(), fmt.Sprint("host", i), metav1.DeleteOptions{}))
		}
		time.Sleep(lasts / 10)
		started := time.Now()
		w.expectLine("alice", fmt.Sprintf("revert own.test -n platform --to %d --yes", good), 0, "3 Records written")
		longest = max(longest, time.Since(started))
		if got := w.readEntries(); strings.Count(got, "\nhost") != 5 {
			t.Fatalf("after the revert\n%s", got)
		}
	}
	past := must.Get((&history.Reader{Client: w.up.KubizoneV1alpha1()}).Read(t.Context(), w.makeSubject("platform"), nil))(t)
	lost := 0
	for i := range past.Steps {
		if past.Steps[i].Condensed {
			lost++
		}
	}
	t.Logf("%d rounds, the longest revert took %v; %d steps, %d without values", rounds, longest, len(past.Steps), lost)
}

// Honest leases of DHCP change a zone all day: 14 a second. The owner undoes in the evening a mistake of the morning,
// and the zone of the morning is whole. The long form has the changes of 2.4 hours, the short one those of 4 minutes.
func TestRevert_besideADayOfLeases(t *testing.T) {
	changes := 3_000
	if rig.Long() {
		changes = 14 * 86_400 / 10
	}
	w := newWorld(t, "own.test", "platform", "dhcp")
	for i := range 5 {
		w.putRecord("alice", "platform", fmt.Sprint("host", i), fmt.Sprint("host", i), fmt.Sprint("192.0.2.", i+1), nil)
	}
	const writers, hosts = 8, 25
	for i := range writers * hosts {
		w.putRecord("dhcp", "dhcp", fmt.Sprint("lease", i), fmt.Sprint("lease", i), "198.51.100.1", nil)
	}
	good, text := w.readZone().Status.Serial, w.readEntries()
	for i := range 3 {
		must.Succeed(t, w.up.KubizoneV1alpha1().Records("platform").Delete(t.Context(), fmt.Sprint("host", i), metav1.DeleteOptions{}))
	}
	leases := w.makeClient("dhcp", nil).KubizoneV1alpha1().Records("dhcp")
	var all sync.WaitGroup
	for writer := range writers {
		all.Go(func() {
			for n := range changes / writers {
				patch := fmt.Appendf(nil, `{"spec":{"rdata":"198.51.100.%d"}}`, 2+n%250)
				object := fmt.Sprint("lease", writer*hosts+n%hosts)
				options := metav1.PatchOptions{FieldManager: "kea"}
				if _, err := leases.Patch(t.Context(), object, types.MergePatchType, patch, options); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	began := time.Now()
	past := must.Get((&history.Reader{Client: w.up.KubizoneV1alpha1()}).Read(t.Context(), w.makeSubject("platform"), nil))(t)
	t.Logf("%d steps are read in %v", len(past.Steps), time.Since(began))
	if shown, code := w.runLine("alice", fmt.Sprintf("show own.test@%d", good)); code != 0 || shown != text {
		t.Errorf("show: code %d\n%s\nwant\n%s", code, shown, text)
	}
	w.expectLine("alice", fmt.Sprintf("revert own.test -n platform --to %d --yes", good), 0, "3 Records written")
	if got := w.readEntries(); strings.Count(got, "\nhost") != 5 {
		t.Errorf("after the revert\n%s", got)
	}
}
