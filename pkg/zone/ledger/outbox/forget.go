// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package outbox

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"kubi.zone/kubizone/pkg/zone/law"
	"kubi.zone/kubizone/pkg/zone/ledger/etcd"
	"kubi.zone/kubizone/pkg/zone/ledger/journal"
	"kubi.zone/kubizone/pkg/zone/ledger/layout"
)

const (
	SerialsEvery = time.Hour
	// RecordKeptEvery is the interval between writes of a last serial's time left, 240 in sixty days.
	RecordKeptEvery = 6 * time.Hour
	// MaxSerials bounds the last serials of a namespace's zones, to 3 MiB. Those with the least time left go first.
	MaxSerials  = 10000
	sweptAtOnce = 100
)

type forgettable struct {
	key         string
	mod         int64
	secondsLeft int64
}

// sweepSerials deletes the last serials of removed zones that no secondary can remember any more. Each server counts
// the time since it first saw a revision of such a serial. The first server with a due count writes the time left. A
// stored date would be unsafe, because a server with a clock ahead would delete all serials.
func (ob *Outbox) sweepSerials(ctx context.Context, last seenKeys) seenKeys {

	// Find the serials that are over, due or too many.
	byNamespace := map[string][]forgettable{}
	var cmps []clientv3.Cmp
	var ops []clientv3.Op
	write := func(key string, mod int64, op clientv3.Op) {
		// Several servers sweep. The first to write a count wins, and the others begin a new count.
		cmps, ops = append(cmps, etcd.RevisionIs(key, mod)), append(ops, op)
	}
	seen := ob.sweepRoom(ctx, "serials", last, func(kv *mvccpb.KeyValue, unchangedFor time.Duration) {
		var stored law.LastSerial
		if layout.Decode(kv.Value, &stored) != nil {
			return // fsck reports it
		}

		key := string(kv.Key)
		next, isDue := SubtractElapsed(stored, unchangedFor)
		isOver := next == nil
		switch {
		case isOver:
			write(key, kv.ModRevision, clientv3.OpDelete(key))
		case isDue:
			write(key, kv.ModRevision, etcd.OpPut(key, layout.Encode(next)))
		case stored.By != "":
			byNamespace[stored.By] = append(byNamespace[stored.By], forgettable{key, kv.ModRevision, stored.Left})
		}
	})

	// Beyond a namespace's limit, delete those with the least time left.
	for _, serials := range byNamespace {
		slices.SortFunc(serials, func(x, y forgettable) int { return cmp.Compare(x.secondsLeft, y.secondsLeft) })
		excess := max(0, len(serials)-ob.MaxSerials)
		for _, f := range serials[:excess] {
			write(f.key, f.mod, clientv3.OpDelete(f.key))
		}
	}

	// Write in transactions of sweptAtOnce operations. After a failed compare, the next sweep retries.
	for n := 0; n < len(ops); n += sweptAtOnce {
		end := min(len(ops), n+sweptAtOnce)
		_, _ = ob.Mem.Client.Txn(ctx).If(cmps[n:end]...).Then(ops[n:end]...).Commit()
	}

	return seen
}

// SubtractElapsed subtracts the elapsed time from a last serial's time left, and returns nil if no time is left. If the
// result is worth a write, due is true.
func SubtractElapsed(last law.LastSerial, elapsed time.Duration) (next *law.LastSerial, due bool) {
	passed := int64(elapsed.Seconds())
	if passed >= last.Left {
		return nil, true
	}
	last.Left -= passed
	return &last, elapsed >= RecordKeptEvery
}

// SweepCondensed deletes the condensed steps (merged old changes) of zones no longer held back, since only a hold needs
// them. The condensed steps of a removed zone are deleted with its other keys.
func (ob *Outbox) SweepCondensed(ctx context.Context) error {
	newest := map[string]int64{}
	room := ob.Mem.Layout.Room("condensed")
	_, err := etcd.Scan(ctx, ob.Mem.Client, room, fromStart, noLimit, func(kv *mvccpb.KeyValue) error {
		// The newest revision tells later whether another step was condensed meanwhile.
		uid, _, _ := strings.Cut(strings.TrimPrefix(string(kv.Key), room), "/")
		newest[uid] = max(newest[uid], kv.ModRevision)
		return nil
	}, clientv3.WithKeysOnly())
	if err != nil {
		return err
	}

	for _, h := range ob.Mem.Holdings(func(h *law.Holding) bool { return newest[h.UID] > 0 }) {
		z, _, err := ob.Mem.ReadZone(ctx, h.Namespace, h.Name)
		isRemoved := z == nil || string(z.UID) != h.UID
		if err != nil || isRemoved {
			continue
		}
		hasEnded := z.Status.FQDN == ""
		if hasEnded || journal.IsUnsettled(z) {
			// A held zone is served at settledSerial, by undoing these steps.
			continue
		}

		// Steps condensed since the scan stay.
		key := ob.Mem.Layout.Condensed(h.UID)
		isUnchanged := clientv3.Compare(clientv3.ModRevision(key), "<", newest[h.UID]+1).WithPrefix()
		deletion := clientv3.OpDelete(key, clientv3.WithPrefix())
		if _, err := ob.Mem.Client.Txn(ctx).If(isUnchanged).Then(deletion).Commit(); err != nil {
			return err
		}
	}

	return nil
}
