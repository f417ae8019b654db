// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package model

import (
	"strings"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/zone/ledger/subrev"
)

func makeVersion(revision int64) int64 { return subrev.Version(revision, subrev.Last) }

func zoneAt(revision int64, name, fqdn string, serial int64, hash string, rules ...v1alpha1.DelegationRule) change {
	z := &v1alpha1.Zone{ObjectMeta: metav1.ObjectMeta{Namespace: "owner", Name: name, UID: types.UID(name)}, Spec: v1alpha1.ZoneSpec{Delegations: rules}}
	z.Status = v1alpha1.ZoneStatus{FQDN: fqdn, Serial: serial, Hash: hash, ContentGeneration: serial, Conditions: []metav1.Condition{{Type: "Settled", Status: "True"}}}
	return change{revision: makeVersion(revision), object: "owner/" + name, zone: z}
}

func recordAt(revision int64, namespace, fqdn, zone string, serial int64) change {
	r := &v1alpha1.Record{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "r", Generation: revision}, Spec: v1alpha1.RecordSpec{Type: "A"}}
	r.Status = v1alpha1.RecordStatus{FQDN: fqdn, Serial: serial}
	if zone != "" {
		r.Status.ZoneRef = &v1alpha1.AdoptingZone{Namespace: "owner", Name: zone, UID: types.UID(zone)}
	}
	return change{revision: makeVersion(revision), object: namespace + "/r", record: r}
}

// TestCheck_findsWhatIsWrong: the model rejects each history that a bug of the server would make.
func TestCheck_findsWhatIsWrong(t *testing.T) {
	everything := v1alpha1.DelegationRule{Records: []v1alpha1.RecordDelegation{{Pattern: "*"}}}
	onlyWWW := v1alpha1.DelegationRule{Records: []v1alpha1.RecordDelegation{{Pattern: "www"}}}
	org := zoneAt(1, "org", "org.", 1, "a", everything)
	gone := recordAt(3, "b", "ftp.org.", "org", 2)
	gone.gone = true
	batch := history{
		org, zoneAt(2, "org", "org.", 2, "b", everything), recordAt(2, "b", "ftp.org.", "org", 2),
		zoneAt(3, "org", "org.", 4, "c", everything), recordAt(3, "a", "www.org.", "org", 3), gone,
	}
	batch[4].revision = makeVersion(3) - 1
	if _, err := checkHistory(batch); err != nil {
		t.Errorf("a batch is refused: %v", err)
	}
	batch[4].revision = makeVersion(3)
	if _, err := checkHistory(batch); err == nil || !strings.Contains(err.Error(), "have one version") {
		t.Errorf("check says %v of two records with one version", err)
	}
	alone := history{batch[0], batch[1], batch[2], batch[5]}
	if _, err := checkHistory(alone); err == nil || !strings.Contains(err.Error(), "does not change with it") {
		t.Errorf("check says %v of a record that goes without its zone", err)
	}
	for want, h := range map[string]history{
		"":                      {org, zoneAt(2, "org", "org.", 2, "b", everything), recordAt(2, "a", "www.org.", "org", 2), zoneAt(3, "net", "net.", 1, "c")},
		"two zones change":      {org, zoneAt(2, "org", "org.", 2, "b"), zoneAt(2, "net", "net.", 1, "c")},
		"records of two zones":  {org, zoneAt(2, "org", "org.", 2, "b", everything), recordAt(2, "a", "www.org.", "org", 2), recordAt(2, "b", "www.net.", "net", 2)},
		"are both org.":         {org, zoneAt(2, "other", "org.", 1, "a")},
		"two definitions":       {org, zoneAt(2, "org", "org.", 1, "b")},
		"serial 1 after 2":      {zoneAt(1, "org", "org.", 2, "a"), zoneAt(2, "org", "org.", 1, "b")},
		"are the same":          {org, zoneAt(2, "org", "org.", 2, "a")},
		"is not there":          {recordAt(2, "a", "www.org.", "org", 2)},
		"went from 1 to 2":      {org, zoneAt(2, "org", "org.", 2, "b", everything), recordAt(2, "a", "www.org.", "org", 3)},
		"went from 1 to 3":      {org, zoneAt(2, "org", "org.", 3, "b", everything), recordAt(2, "a", "www.org.", "org", 1)},
		"do not allow":          {zoneAt(1, "org", "org.", 1, "a"), zoneAt(2, "org", "org.", 2, "b"), recordAt(2, "a", "www.org.", "org", 2)},
		"longest zone is x.org": {org, zoneAt(2, "x", "x.org.", 1, "d"), zoneAt(3, "org", "org.", 2, "b", everything), recordAt(3, "a", "www.x.org.", "org", 2)},
		"encloses it":           {org, recordAt(2, "a", "www.org.", "", 0)},
		"have one base name":    {org, zoneAt(2, "org", "org.", 2, "b", everything), recordAt(2, "a", "www.org.", "org", 2), zoneAt(3, "org", "org.", 3, "c", everything), recordAt(3, "b", "www.org.", "org", 3)},
		"and a/r at x._y.www":   {org, zoneAt(2, "org", "org.", 2, "b", everything), recordAt(2, "a", "x._y.www.org.", "org", 2), zoneAt(3, "org", "org.", 3, "c", everything), recordAt(3, "b", "_tcp.www.org.", "org", 3)},
		"counts as the apex":    {org, zoneAt(2, "org", "org.", 2, "b", everything), recordAt(2, "a", "x._domainkey.org.", "org", 2)},
		"allow A there to a":    {org, zoneAt(2, "org", "org.", 2, "b", onlyWWW), recordAt(2, "a", "ftp.org.", "org", 2)},
	} {
		_, err := checkHistory(h)
		if (want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("check says %v, want %q", err, want)
		}
	}
}

// TestSequential_findsWhatIsWrong: the checker of histories finds faults. No order of the operations explains a read
// without an acknowledged write, a serial given twice, or a tenant's refusal without a revocation.
func TestSequential_findsWhatIsWrong(t *testing.T) {
	put := porcupine.Operation{Input: input{zone: "z", kind: "put", name: "a", data: "1"}, Call: 1, Return: 2, Output: output{serial: 2}}
	for _, c := range []struct {
		then porcupine.Operation
		want porcupine.CheckResult
	}{
		{porcupine.Operation{Input: input{zone: "z", kind: "read"}, Output: output{serial: 2, entries: "a=1"}}, porcupine.Ok},
		{porcupine.Operation{Input: input{zone: "z", kind: "read"}, Output: output{serial: 1}}, porcupine.Illegal},
		{porcupine.Operation{Input: input{zone: "z", kind: "put", name: "b", data: "1"}, Output: output{serial: 2}}, porcupine.Illegal},
		{porcupine.Operation{Input: input{zone: "z", kind: "knock"}, Output: output{refused: true}}, porcupine.Illegal},
	} {
		c.then.ClientId, c.then.Call, c.then.Return = 1, 3, 4
		if got, _ := porcupine.CheckOperationsVerbose(sequential, []porcupine.Operation{put, c.then}, time.Minute); got != c.want {
			t.Errorf("%+v is %s, want %s", c.then, got, c.want)
		}
	}
}
