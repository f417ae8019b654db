// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package history

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"

	"kubi.zone/kubizone/pkg/ledger/etcd"
	"kubi.zone/kubizone/pkg/ledger/layout"
)

// A Delegation that leaves a zone is stored beside the archive. The zone's removal moves such Delegations into a
// segment.

// A Delegation deleted within oldDelegationTTL before the zone counts as deleted with the zone.
const oldDelegationTTL = 10 * time.Minute

const (
	maxOldOctets = 1 << 20
	maxRemoved   = 100
)

// OldDelegation is a Delegation that has left its zone.
type OldDelegation struct {
	Time  int64  `json:"t"`
	Name  string `json:"n"`
	State []byte `json:"s"`
}

// DelegationLeftOp stores a Delegation that leaves a zone, under the number "at" of Delegations left: a zone stores no
// more than it once had. For a removed zone, at is -1.
func (a *Archive) DelegationLeftOp(zone string, at int, o metav1.Object, spec any) (clientv3.Op, error) {
	packed, err := Pack(o, spec, maxZoneState)
	if err != nil {
		return clientv3.Op{}, err
	}
	of := OldDelegation{Time: a.Now().Unix(), Name: o.GetName(), State: packed.Text}
	return etcd.OpPut(a.oldDelegationKey(zone, at, of.Name), layout.Encode(&of)), nil
}

// DelegationJoinedOp deletes the old Delegation stored under number "at", as a new Delegation takes the number.
func (a *Archive) DelegationJoinedOp(zone string, at int) clientv3.Op {
	return clientv3.OpDelete(a.oldDelegationKey(zone, at, ""))
}

func (a *Archive) oldDelegationKey(zone string, at int, name string) string {
	if at >= 0 {
		name = fmt.Sprintf("#%08d", at)
	}
	return a.Layout.LeftDelegation(zone, name)
}

// maxZoneState bounds the state of a Zone or Delegation, of up to 96 KiB (S5.10).
const maxZoneState = 64 << 10

func PackZone(o metav1.Object, spec any) (Packed, error) { return Pack(o, spec, maxZoneState) }

func (a *Archive) readOldDelegations(ctx context.Context, zone string, removed int64) (out []Was, whole bool, err error) {
	octets, seen := 0, map[string]int64{}
	whole = true
	_, err = etcd.Scan(ctx, a.Client, a.Layout.LeftDelegations(zone), "", 0, func(kv *mvccpb.KeyValue) error {
		var old OldDelegation
		text := json.RawMessage(nil)
		err := layout.Decode(kv.Value, &old)
		if err == nil {
			text, err = Unpack(old.State)
		}

		if err != nil {
			klog.FromContext(ctx).Error(layout.Unreadable(string(kv.Key), err), "The history of a zone lacks a Delegation")
			return nil
		}

		last, again := seen[old.Name]
		if old.Time < removed-int64(oldDelegationTTL.Seconds()) || again && last >= old.Time {
			return nil
		}
		if octets += len(text); octets > maxOldOctets {
			whole = false
			return nil
		}

		seen[old.Name] = old.Time
		out = append(slices.DeleteFunc(out, func(w Was) bool { return w.Name == old.Name }), Was{Name: old.Name, State: text})
		return nil
	})

	slices.SortFunc(out, func(x, y Was) int { return strings.Compare(x.Name, y.Name) })
	return out, whole, err
}

func (a *Archive) nameOps(of *Header) []clientv3.Op {
	value := layout.Encode(of)
	return []clientv3.Op{etcd.OpPut(a.Layout.ArchivedName(of.Namespace, of.Name), value),
		etcd.OpPut(a.Layout.ArchivedFQDN(of.FQDN, of.Namespace, of.View), value)}
}
