// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package history_test

import (
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/cmd/up"
	"kubi.zone/kubizone/pkg/history"
	"kubi.zone/kubizone/test/must"
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
