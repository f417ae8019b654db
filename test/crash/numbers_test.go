// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package crash

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"kubi.zone/kubizone/test/must"
)

// faults lists the tests of each fault. Those of delivery (F22 to F24) are in pkg/delivery/schedule.
var faults = []struct {
	number, fault string
	tests         []string // "FILE TestName"; tests of this package have the number in their name
}{
	{"F01", "kill -9 of a server, in every window of every transaction",
		[]string{"pkg/zone/ledger/cascade_test.go TestCascade_interruptedAnywhereItGoesOn_I4",
			"test/delivery/crash_test.go TestCrash_whileRecordsBecomeReady_F01"}},
	{"F02", "kill -9 of the only etcd", nil},
	{"F03", "kill -9 of the leader of three", nil},
	{"F04", "the leader stands still and comes back", nil},
	{"F05", "a server stands still in a write", nil},
	{"F06", "two servers on one zone", []string{"pkg/zone/ledger/race_test.go TestRace_neitherServerStarves"}},
	{"F07", "a server cut off from etcd", nil},
	{"F08", "a server on the minority side", nil},
	{"F09", "lines that are slow and break", []string{"pkg/primary/notify_test.go TestNotify_thousandZonesOverABadLine_F21"}},
	{"F10", "the disk is full", []string{"pkg/apiserver/space_test.go TestServer_saysThatEtcdIsFullAndFreesIt", "pkg/zone/etcd/embed/embed_test.go TestOpenDir_refusesAFullDiskBeforeEtcdMeetsIt"}},
	{"F11", "the disk is slow, and fails", nil},
	{"F12", "etcd's quota, reached by one tenant", []string{"test/cluster/story_test.go TestStories", "pkg/apiserver/space_test.go TestServer_saysThatEtcdIsFullAndFreesIt"}}, // testdata/quota.txtar
	{"F13", "compaction under who watches, defragmentation under load", nil},
	{"F14", "a server restarted under many watches", nil},
	{"F15", "clocks apart and jumping", []string{"pkg/primary/tsig_test.go TestTSIG_errors", "pkg/delivery/schedule/holder_test.go TestLoop_pausedWorkerWritesNothing_F22"}},
	{"F16", "restore of an old snapshot", []string{"pkg/apiserver/backup/backup_test.go TestBackup_underLoadIsRestoredAheadOfWhatWasHandedOut", "test/e2e/restored_test.go TestRestore_ofOneBackupTwice"}},
	{"F17", "restore without raising what was handed out", []string{"pkg/apiserver/backup/backup_test.go TestRaiseSerials_fromEveryHalfOfTheCircle", "pkg/apiserver/backup/backup_test.go TestBackup_underLoadIsRestoredAheadOfWhatWasHandedOut", "test/e2e/restored_test.go TestRestore_ofOneBackupTwice"}},
	{"F18", "serials wrap", []string{"pkg/zone/zoneview/difference_test.go TestDifference_refusals"}},
	{"F19", "the journal no longer reaches back", []string{"pkg/primary/answer_test.go TestRespond_toAllowedPeer", "test/interop/transfers/ixfr_test.go TestBINDFollowsByIXFR"}},
	{"F20", "a secondary that dies in a transfer while the zone changes", []string{"pkg/primary/message_test.go TestTransfer_endsVisiblyWhenARecordCannotBeSent"}},
	{"F21", "NOTIFYs lost, doubled and delayed, of 1,000 zones at once", []string{"pkg/primary/notify_test.go TestNotify_thousandZonesOverABadLine_F21"}},
	{"F25", "kube-apiserver stands still", []string{"test/cluster/identity_test.go TestIdentity_noAnswerIsNoPermission", "test/cluster/aggregation_test.go TestAggregation_serverAway"}},
	{"F26", "certificates rotate", []string{"test/cluster/aggregation_test.go TestAggregation_certificateIsFollowed"}},
	{"F27", "the server is killed for its memory", nil},
	{"F28", "an older server meets what a newer one wrote", []string{"pkg/zone/etcd/embed/embed_test.go TestOpenDir_refusesANewerFormat"}},
	{"F29", "file descriptors run out", []string{"pkg/primary/primary_test.go TestTCP_connectionsAreBounded"}},
	{"F30", "a stored bit flips", []string{"pkg/zone/ledger/fsck/damage_test.go TestRun_findsEveryKindOfDamage"}},
	{"F31", "an upgrade and the way back, with servers of both versions", nil},
}

func TestFaults_areAllBroken(t *testing.T) {
	declared := regexp.MustCompile(`(?m)^func (Test\w+)`)
	var here []string
	for _, path := range must.Get(filepath.Glob("*_test.go"))(t) {
		for _, m := range declared.FindAllStringSubmatch(string(must.Get(os.ReadFile(path))(t)), -1) {
			here = append(here, m[1])
		}
	}
	for _, f := range faults {
		own := slices.DeleteFunc(slices.Clone(here), func(name string) bool { return !strings.Contains(name, f.number) })
		for _, test := range f.tests {
			path, name, _ := strings.Cut(test, " ")
			source, err := os.ReadFile(filepath.Join("../..", path))
			if err != nil || !strings.Contains(string(source), "func "+name+"(") {
				t.Errorf("%s: there is no %s: %v", f.number, test, err)
			}
		}
		if len(own)+len(f.tests) == 0 {
			t.Errorf("no test for %s: %s", f.number, f.fault)
		}
		t.Logf("%s %s: %s", f.number, f.fault, strings.Join(append(own, f.tests...), ", "))
	}
}
