// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"golang.org/x/sync/errgroup"
	"google.golang.org/protobuf/encoding/protowire"
	"k8s.io/klog/v2"

	"kubi.zone/kubizone/pkg/ledger/layout"
)

// A redo log says what a batch has decided and its records do not say yet. It is
// made with the transaction that decides, together with a reservation for each
// record in it, and each reservation goes with the write of its record, which
// compares it. So each entry is written exactly once, by whoever comes first: the
// server that made the log, one that meets the reservation, or the sweeper of any.

// redoLog is the value under logs/. It is written for each batch and read after a
// crash, so it is the messages `repeated Entry = 1; Entry { string key = 1; bytes
// value = 2; }` and not text: JSON would write each record as base64.
type redoLog struct {
	Entries []logEntry
}

// logEntry is one record as it shall stand, encoded for storage; Value nil: deleted.
type logEntry struct {
	Key   string
	Value []byte
}

func (l *redoLog) encode() []byte {
	size := 0
	for _, e := range l.Entries {
		size += len(e.Key) + len(e.Value) + 16 // tags and lengths
	}
	out := make([]byte, 0, size)
	for _, e := range l.Entries {
		inner := 1 + protowire.SizeBytes(len(e.Key))
		if e.Value != nil {
			inner += 1 + protowire.SizeBytes(len(e.Value))
		}
		out = protowire.AppendTag(out, 1, protowire.BytesType)
		out = protowire.AppendVarint(out, uint64(inner))
		out = protowire.AppendTag(out, 1, protowire.BytesType)
		out = protowire.AppendString(out, e.Key)
		if e.Value != nil {
			out = protowire.AppendTag(out, 2, protowire.BytesType)
			out = protowire.AppendBytes(out, e.Value)
		}
	}
	return out
}

// decodeLog reads what encode wrote; the entries are parts of data.
func decodeLog(data []byte) (log redoLog, err error) {
	err = fields(data, func(_ protowire.Number, entry []byte) error {
		var e logEntry
		if err := fields(entry, func(field protowire.Number, v []byte) error {
			if field == 1 {
				e.Key = string(v)
			} else {
				e.Value = v
			}
			return nil
		}); err != nil {
			return err
		}
		if e.Key == "" {
			return errors.New("an entry of a redo log names no record")
		}
		log.Entries = append(log.Entries, e)
		return nil
	})
	return log, err
}

// fields calls take for each field of a message whose fields are all octets.
func fields(data []byte, take func(protowire.Number, []byte) error) error {
	for len(data) > 0 {
		field, kind, n := protowire.ConsumeTag(data)
		if n < 0 {
			return protowire.ParseError(n)
		}
		v, m := protowire.ConsumeBytes(data[n:])
		if m < 0 {
			return protowire.ParseError(m)
		}
		if kind != protowire.BytesType || field > 2 {
			return fmt.Errorf("a redo log has field %d of type %d", field, kind)
		}
		if err := take(field, v); err != nil {
			return err
		}
		data = data[n+m:]
	}
	return nil
}

// operation of an entry.
func (e logEntry) operation() clientv3.Op {
	if e.Value == nil {
		return clientv3.OpDelete(e.Key)
	}
	return opPut(e.Key, e.Value)
}

// redo writes one entry of the log made at revision at, and returns the revision
// that its record has then. Who comes second finds the reservation gone, and the
// record as the first left it or as others have changed it since; own: that was not so.
func (l *Ledger) redo(ctx context.Context, e logEntry, at int64) (rev int64, own bool, err error) {
	reserved := l.layout.Reserved(e.Key)
	r, err := l.config.Client.Txn(ctx).If(revisionIs(reserved, at)).
		Then(e.operation(), clientv3.OpDelete(reserved)).Commit()
	if err != nil {
		return 0, false, err
	}
	if r.Succeeded {
		return versionAt(r, 0), true, nil
	}
	now, err := l.config.Client.Get(ctx, e.Key)
	if err != nil {
		return 0, false, err
	}
	if len(now.Kvs) > 0 && string(now.Kvs[0].Value) == string(e.Value) {
		return now.Kvs[0].ModRevision, false, nil
	}
	return at, false, nil
}

// A turn at the disk that takes slowTurn is worth not waiting for: the records are sent behind the commit point, to take their
// turn right after it (and worth waiting for company before it: gather). How far behind is learned: too near, and they overtake it and are sent twice.
const (
	slowTurn = 4 * time.Millisecond
	minLead  = 500 * time.Microsecond
)

// turns are what the last transactions of writes took.
type turns struct {
	mu   sync.Mutex
	last [manyTurns]time.Duration
	n    int
}

func (t *turns) took(trip time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.last[t.n%len(t.last)] = trip
	t.n++
}

// manyTurns are a second or two of a zone that is hot. Among few of them there may be none that found a processor free.
const manyTurns = 256

// disk is the least of them: what is waited for beside the disk is CPU time, which no waiting makes less. 0: none is known.
func (t *turns) disk() time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.n == 0 {
		return 0
	}
	return slices.Min(t.last[:min(t.n, len(t.last))])
}

// slow reports whether a turn at the disk is what writes wait for.
func (l *Ledger) slow() bool { return l.turns.disk() >= l.config.slowTurn }

// led takes in whether records overtook their commit point.
func (l *Ledger) led(overtaken bool) {
	lead := l.lead.Load()
	if overtaken {
		l.lead.Store(min(lead*3/2, int64(batchTimeout)))
	} else {
		l.lead.Store(max(lead*63/64, int64(minLead)))
	}
}

// early is the writes of a batch's records that did not wait for its commit point. nil: there are none.
type early struct {
	answered chan struct{}
	revs     []chan int64 // notSent, inVain, or what it is written at
}

const (
	notSent = 0
	inVain  = -1
)

// start sends each record on the condition that the reservation is of this very log: before
// the commit point there is none, and after whoever came first has written the record there is none
// any more. One that overtakes the commit point has done nothing, and finish sends it again.
func (b *assembly) start(ctx context.Context) *early {
	l := b.l
	if len(b.late) == 0 || !l.slow() || l.rivalled(b.head) && l.config.slowTurn >= 0 {
		return nil
	}
	x := &early{answered: make(chan struct{}), revs: make([]chan int64, len(b.late))}
	late := b.late // which a commit point that fails forgets
	for i := range x.revs {
		x.revs[i] = make(chan int64, 1)
	}
	l.spawn(func() {
		timer := time.NewTimer(time.Duration(l.lead.Load()))
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-x.answered:
			for _, rev := range x.revs {
				rev <- notSent
			}
			return
		}
		for i, e := range b.log.Entries {
			l.spawn(func() {
				l.fault("batch-record")
				reserved := l.layout.Reserved(e.Key)
				r, err := l.config.Client.Txn(late[i].paidAlone(ctx)).If(clientv3.Compare(clientv3.Value(reserved), "=", b.logKey)).
					Then(e.operation(), clientv3.OpDelete(reserved)).Commit()
				if err != nil || !r.Succeeded {
					x.revs[i] <- inVain
					return
				}
				l.stats.Early.Add(1)
				x.revs[i] <- versionAt(r, 0)
			})
		}
	})
	return x
}

// enough: the commit point is answered, what has not been sent is finish's.
func (x *early) enough() {
	if x != nil {
		close(x.answered)
	}
}

// written is the revision at which an entry was written early, or why it was not.
func (x *early) written(entry int) int64 {
	if x == nil {
		return notSent
	}
	return <-x.revs[entry]
}

// finish writes the records of the log, each in its own transaction, and answers
// each when its own is written.
func (b *assembly) finish(ctx context.Context) {
	l, h := b.l, b.head
	var wait sync.WaitGroup
	var helped, overtaken atomic.Bool
	errs := make([]error, len(b.late))
	wait.Add(len(b.late))
	for i, d := range b.late {
		l.spawn(func() {
			defer wait.Done()
			rev, own, err := b.early.written(i), true, error(nil)
			if rev == inVain {
				overtaken.Store(true)
			}
			if rev <= 0 {
				l.fault("batch-record")
				rev, own, err = l.redo(d.paidAlone(ctx), b.log.Entries[i], b.at)
			}
			if err == nil && !own {
				helped.Store(true)
			}
			if errs[i] = err; err != nil {
				d.r.reply(outcome{}, decidedOnly(d.r.w, err))
				return
			}
			l.mu.Lock()
			delete(h.aloft, d.r.w.key)
			l.mu.Unlock()
			d.r.w.plan = d.plan
			d.r.reply(outcome{ok: true, rev: rev}, nil)
		})
	}
	wait.Wait()
	if b.early != nil {
		l.led(overtaken.Load())
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if errors.Join(errs...) == nil { // otherwise the sweeper carries the log out
		h.logs = append(h.logs, standingLog{key: b.logKey, mod: b.at})
	}
	if helped.Load() {
		h.rival = time.Now()
	}
	for i, e := range b.log.Entries {
		if errs[i] != nil {
			delete(h.aloft, e.Key)
		}
	}
	close(h.landing)
	h.landing = nil
	if h.flights--; h.flights > 0 {
		h.landing = make(chan struct{})
	}
}

// taken: logs that were carried out have gone with a write of the zone. The caller holds l.mu.
func (h *head) taken(logs ...standingLog) {
	h.logs = slices.DeleteFunc(h.logs, func(log standingLog) bool {
		return slices.ContainsFunc(logs, func(x standingLog) bool { return x.key == log.key })
	})
}

// carryOutLog writes what is left of a log, then removes it. One that is gone is
// through already.
func (l *Ledger) carryOutLog(ctx context.Context, key string) error {
	r, err := l.config.Client.Get(ctx, key)
	if err != nil || len(r.Kvs) == 0 {
		return err
	}
	kv := r.Kvs[0]
	if _, err := l.redoAll(ctx, kv); err != nil {
		return err
	}
	_, err = l.config.Client.Txn(ctx).If(revisionIs(key, kv.ModRevision)).Then(clientv3.OpDelete(key)).Commit()
	return err
}

// redoAll writes what is left of a log, all of it at once.
func (l *Ledger) redoAll(ctx context.Context, kv *mvccpb.KeyValue) (log redoLog, err error) {
	if log, err = decodeLog(kv.Value); err != nil {
		return log, unreadable(string(kv.Key), err)
	}
	group, ctx := errgroup.WithContext(ctx)
	for _, e := range log.Entries {
		group.Go(func() error {
			l.fault("log-entry")
			_, _, err := l.redo(ctx, e, kv.ModRevision)
			return err
		})
	}
	return log, group.Wait()
}

// sweepLogs carries out the logs that stood at the last sweep already, all of them
// at the first: whoever made them has died or could not finish. old and the
// returned map are their revisions.
func (l *Ledger) sweepLogs(ctx context.Context, old map[string]int64, all bool) map[string]int64 {
	r, err := l.config.Client.Get(ctx, l.layout.Room("logs"), clientv3.WithPrefix(), clientv3.WithKeysOnly())
	if err != nil {
		return old
	}
	now := map[string]int64{}
	var mu sync.Mutex
	keep := func(kv *mvccpb.KeyValue) {
		mu.Lock()
		defer mu.Unlock()
		now[string(kv.Key)] = kv.ModRevision
	}
	var group errgroup.Group
	group.SetLimit(sweptLogs)
	for _, kv := range r.Kvs {
		key := string(kv.Key)
		if !all && old[key] != kv.ModRevision {
			keep(kv)
			continue
		}
		group.Go(func() error {
			if l.through(key) {
				if _, err := l.config.Client.Delete(ctx, key); err != nil {
					keep(kv)
				}
			} else if err := l.carryOutLog(ctx, key); err != nil && ctx.Err() == nil {
				klog.FromContext(ctx).Error(err, "a redo log is not carried out; it is tried again", "key", key)
				keep(kv)
			}
			return nil
		})
	}
	_ = group.Wait() // each says for itself what went wrong
	return now
}

// sweptLogs at once: after a crash there may be one for each zone that was written.
const sweptLogs = 8

// through: this server has carried the log out, and the next write of its zone
// that would take it away has not come.
func (l *Ledger) through(key string) bool {
	uid, _, _ := strings.Cut(strings.TrimPrefix(key, l.layout.Room("logs")), "/")
	l.mu.Lock()
	defer l.mu.Unlock()
	h := l.byUID[uid]
	if h == nil || !slices.ContainsFunc(h.logs, func(log standingLog) bool { return log.key == key }) {
		return false
	}
	h.taken(standingLog{key: key})
	return true
}

// Unwritten lists the records that standing logs decide and that are not written
// yet, at a revision: by key, as they shall stand, Value nil for those that go.
// Who reads all records at that revision lays them over what it read (I2).
// get reads at the revision of the other reads.
func Unwritten(keys layout.Keys, get func(key string, opts ...clientv3.OpOption) (*clientv3.GetResponse, error)) (map[string]*mvccpb.KeyValue, error) {
	logs, err := get(keys.Room("logs"), clientv3.WithPrefix())
	if err != nil || len(logs.Kvs) == 0 {
		return nil, err
	}
	reserved, err := get(keys.Room("reserved"), clientv3.WithPrefix(), clientv3.WithKeysOnly())
	if err != nil {
		return nil, err
	}
	stands := map[string]int64{}
	for _, kv := range reserved.Kvs {
		stands[string(kv.Key)] = kv.ModRevision
	}
	out := map[string]*mvccpb.KeyValue{}
	for _, kv := range logs.Kvs {
		log, err := decodeLog(kv.Value)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", kv.Key, err)
		}
		for _, e := range log.Entries {
			if stands[keys.Reserved(e.Key)] == kv.ModRevision {
				out[e.Key] = &mvccpb.KeyValue{Key: []byte(e.Key), Value: e.Value, ModRevision: kv.ModRevision}
			}
		}
	}
	return out, nil
}
