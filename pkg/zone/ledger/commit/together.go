// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package commit

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"kubi.zone/kubizone/pkg/zone/ledger/subrev"
)

// Batches of several zones share transactions (group commit), since these cost etcd more than their keys. While one is
// in flight, further batches are parked, and the next takes all of them along. After a failure, each batch is decided
// again and commits alone.

const (
	// places bounds the transactions in flight that may be shared: one, and one more for each batch that has waited for
	// as long as a slow commit takes. So a transaction that hangs delays other zones by that time.
	places = 8
	// After a conflict of a batch sent alone, its zone commits alone for noSharingFor.
	noSharingFor = time.Second
)

var errLeftBehind = errors.New("the batch of this write ended in a panic")

// A cascade's batches may put the same outbox item, so they never share.
func (b *batch) mayShare() bool {
	return b.queue != nil && b.Zone != nil && b.retries == 0 && !b.closed && len(b.locks) == 1 &&
		time.Now().After(b.queue.noSharingUntil) && !b.com.isContended(b.queue) &&
		!b.hasOutboxItem()
}

// findForeignKeys lists the compares and puts of a batch at keys that another zone's batch may also use, such as a
// parent's holding. Keys with the zone's UID, and Records, belong to no other batch.
func (p *parked) findForeignKeys() {
	b, w := p.b, p.b.groups[0].firstWrite()
	p.examined = true
	scope, records := "/"+b.Zone.UID+"/", strings.TrimSuffix(w.Key, w.Namespace+"/"+w.Name)
	isOwn := func(key string) bool { return strings.HasPrefix(key, records) || strings.Contains(key, scope) }
	for _, c := range b.cmps {
		if key := string(c.KeyBytes()); key != b.queue.Key && !isOwn(key) {
			// Only this batch puts the batch's Zone, as the lock is held. Others may compare the Zone, so foreignPuts
			// has the key.
			p.foreignCompares = append(p.foreignCompares, c)
		}
	}
	for i := range p.b.then {
		if key := string(p.b.then[i].KeyBytes()); !isOwn(key) {
			p.foreignPuts = append(p.foreignPuts, key)
		}
	}
}

// dependsOn reports whether p compares a put of other: etcd makes all compares of a transaction before its puts.
func (p *parked) dependsOn(other *parked) bool {
	return slices.ContainsFunc(p.foreignCompares, func(c clientv3.Cmp) bool {
		key, end := string(c.KeyBytes()), string(c.GetCompare().RangeEnd)
		return slices.ContainsFunc(other.foreignPuts, func(put string) bool { return put == key || put > key && put < end })
	})
}

func (b *batch) suspendSharing() {
	if b.queue != nil {
		b.queue.noSharingUntil = time.Now().Add(noSharingFor)
	}
}

// sendShared sends the batch in a transaction with parked batches that fit, or waits until another batch's transaction
// has taken this one along. The outcome is of the whole transaction.
func (b *batch) sendShared(ctx context.Context) outcome {
	g, p := &b.com.gate, &parked{b: b, wakeup: make(chan struct{})}
	if err := g.awaitPlace(ctx, p); err != nil {
		return outcome{err: err}
	}
	switch {
	case p.outcome != nil:
		return *p.outcome
	case p.sentAlong && b.sent:
		// The sender panicked after the request, so the outcome is unknown: let Recover answer for this batch.
		panic(errLeftBehind)
	case p.sentAlong:
		// The sender panicked before the request, so this batch can be decided again.
		return outcome{err: errLeftBehind, shared: true}
	}
	defer g.leavePlace()
	// This batch has a place, so this goroutine sends.
	all := g.joinParked(p)
	if len(all) == 1 {
		return b.sendAlone(ctx)
	}
	// The batches taken along sleep in awaitPlace, also if this send panics.
	defer func() {
		for _, x := range all[1:] {
			close(x.wakeup)
		}
	}()
	return sendTogether(ctx, all)
}

// takePlace takes the place if no transaction is in flight. Otherwise it parks p, unless p is nil.
func (g *gate) takePlace(p *parked) (ok bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if ok = g.pending == 0; ok {
		g.pending++
	} else if p != nil {
		g.parkBatch(p)
	}
	return ok
}

// awaitPlace parks p if a transaction is in flight. It returns when p has a place, or another transaction has taken p
// along, or ctx is done before both.
func (g *gate) awaitPlace(ctx context.Context, p *parked) error {
	if g.takePlace(nil) {
		// The usual case: no transaction is in flight, and no key is examined.
		return nil
	}
	// Before parking, without g.mu: the next sender compares the keys while it holds the lock.
	p.findForeignKeys()
	p.payer = p.b.groups[0].firstWrite().payerOf().Namespace
	if g.takePlace(p) {
		return nil
	}
	slow := time.NewTicker(max(p.b.com.SlowCommit, time.Millisecond))
	defer slow.Stop()
	for {
		select {
		case <-p.wakeup: // in a place or a transaction
			return nil
		case <-slow.C:
			g.addPlace(p) // the transaction in flight may hang
		case <-ctx.Done():
			if g.unpark(p) {
				return ctx.Err()
			}
			// The transaction has p already, so the outcome counts, not the end of ctx.
			<-p.wakeup
			return nil
		}
	}
}

func (g *gate) unpark(p *parked) (wasParked bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	i := slices.Index(g.parked, p)
	if i >= 0 {
		g.parked = slices.Delete(g.parked, i, i+1)
	}
	return i >= 0
}

// parkBatch parks p so that payers (charged namespaces) take turns: the second batch of a payer comes behind the first
// of each other payer, and so on. A namespace with many zones keeps no other out. The caller holds g.mu.
func (g *gate) parkBatch(p *parked) {
	own := 0
	for _, x := range g.parked {
		if x.payer == p.payer {
			own++
		}
	}
	// Example: team-a has three batches parked. The first of team-b goes before the second of team-a.
	before := map[string]int{}
	at := slices.IndexFunc(g.parked, func(x *parked) bool {
		before[x.payer]++
		return before[x.payer] > own+1
	})
	if at < 0 {
		at = len(g.parked)
	}
	g.parked = slices.Insert(g.parked, at, p)
}

// leavePlace passes the last place to the batch that is parked first. Further places end with their transaction.
func (g *gate) leavePlace() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.pending--; g.pending == 0 {
		g.wakeFirst()
	}
}

// addPlace lets the batch that is parked first commit beside the transactions in flight: not p, which has waited, since
// payers take turns. It has no effect if a transaction has taken p along.
func (g *gate) addPlace(p *parked) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.pending < places && slices.Contains(g.parked, p) {
		g.wakeFirst()
	}
}

// wakeFirst needs mu.
func (g *gate) wakeFirst() {
	if len(g.parked) > 0 {
		g.pending++
		close(g.parked[0].wakeup)
		g.parked = slices.Delete(g.parked, 0, 1)
	}
}

// joinParked takes from the parked batches, in their order, those that fit into a transaction with first, and returns
// all of them, first included. Two batches do not fit if either depends on the other, since all compares precede all
// puts.
func (g *gate) joinParked(first *parked) []*parked {
	b, all := first.b, []*parked{first}
	g.mu.Lock()
	lone := len(g.parked) == 0
	g.mu.Unlock()
	if lone {
		return all
	}
	if !first.examined {
		first.findForeignKeys()
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	most := int(b.com.Mem.Ops.Load())
	compares, puts, octets, objects := len(b.cmps), len(b.then), b.size, b.writes
	full := false
	g.parked = slices.DeleteFunc(g.parked, func(p *parked) bool {
		if full || slices.ContainsFunc(all, func(x *parked) bool { return p.dependsOn(x) || x.dependsOn(p) }) {
			// A batch behind a full transaction stays parked even if small, so that batches keep their turns.
			return false
		}
		compares, puts, octets, objects = compares+len(p.b.cmps), puts+len(p.b.then), octets+p.b.size, objects+p.b.writes
		if full = max(compares, puts) > most || octets > MaxBatchOctets || objects > subrev.Objects; full { // the next sender's
			return false
		}
		p.sentAlong = true
		all = append(all, p)
		return true
	})
	return all
}
