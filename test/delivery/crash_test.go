// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package delivery

import (
	"fmt"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/delivery/webhook/protocol"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/rig"
)

const poison = "192.0.2.66"

// S6.13 (F01): server and controller are killed by SIGKILL while 2,000 Records become Ready: in the delivery, and
// before each fifth transaction of conditions. In the end all that the provider has are Ready, and nothing else.
func TestCrash_whileRecordsBecomeReady_F01(t *testing.T) {
	const n, poisonous = 2000, 50
	dir, h := t.TempDir(), newHook(t)
	faulty := must.Get(rig.Kubizone(t.Context(), t.TempDir(), "faultpoints"))(t)
	h.setBefore(func(r *http.Request) *protocol.Error {
		if record := readPosted(r); len(record.Values) == 1 && record.Values[0] == poison {
			return protocol.Refuse(protocol.CodeServerError, "it chokes")
		}
		return nil
	})
	dataOf := func(i int) string {
		if i < poisonous {
			return poison
		}
		return fmt.Sprintf("10.0.%d.%d", i/200, i%200)
	}
	w := startIn(t, dir)
	w.makeClass("hook", h, func(spec *v1alpha1.DNSClassSpec) { spec.Paused, spec.RequestsPerSecond = true, new(int32(10_000)) })
	w.makeZone("example", "example.org.", "hook")
	runAll(t, n, func(i int) error { return w.makeRecord(fmt.Sprint("r", i), "example", dataOf(i)) })
	must.Get(w.api.DNSClasses().Patch(t.Context(), "hook", types.MergePatchType, []byte(`{"spec":{"paused":false}}`),
		metav1.PatchOptions{}))(t)
	waitUntil(t, "the provider has a quarter", func() bool { return h.countCalls() > n/4 })
	w.up.Kill()
	t.Setenv("KUBIZONE_FAULT", "confirm:5:kill")
	kills := 1
	for w = launchIn(t, faulty, dir); !w.waitForRecords(n - poisonous); w = launchIn(t, faulty, dir) {
		if kills++; kills > n/32 || !strings.Contains(w.up.Log(), "fault: kill at confirm") {
			t.Fatalf("no end, or another, after %d kills", kills)
		}
	}
	if kills < 3 {
		t.Errorf("only %d kills", kills)
	}
	for _, record := range must.Get(w.api.Records("").List(t.Context(), metav1.ListOptions{}))(t).Items {
		if isReady(record.Status.Conditions) != (h.countValue(record.Spec.RData) > 0) {
			t.Errorf("%s with %s: %v", record.Name, record.Spec.RData, record.Status.Conditions)
		}
	}
	w.up.End()
	if out, err := exec.Command(kubizone, "fsck", "--data-dir", filepath.Join(dir, "data")).CombinedOutput(); err != nil {
		t.Errorf("fsck: %v\n%s", err, out)
	}
	t.Logf("%d kills", kills)
}

// waitForRecords returns true when so many Records are Ready, and false if the server ends before.
func (w *world) waitForRecords(n int) bool {
	w.Helper()
	all := false
	waitUntil(w.T, fmt.Sprintf("%d Records are Ready", n), func() bool {
		select {
		case <-w.up.Ended():
			return true
		default:
		}
		if w.api == nil && !w.connect() {
			return false
		}
		records, err := w.api.Records("").List(w.Context(), metav1.ListOptions{})
		if err != nil {
			return false
		}
		ready := 0
		for _, record := range records.Items {
			if isReady(record.Status.Conditions) {
				ready++
			}
		}
		all = ready == n
		return all
	})
	return all
}
