// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"context"
	"strings"

	clientv3 "go.etcd.io/etcd/client/v3"

	"kubi.zone/kubizone/pkg/law"
	"kubi.zone/kubizone/pkg/ledger/layout"
)

// deletedKept is for how many seconds longer than decisions look at them the marks of deleted RRsets stay: a server
// whose clock is behind by less still finds what it counts (S7.5).
const deletedKept = 3600

// sweepDeleted takes the marks of deleted RRsets away that no decision looks at any more: of a zone whose contents all count no longer, and those that are not
// behind the oldest one that counts. A decision that comes upon such a mark passes over it, so they go without their zone's object; each goes as it was read,
// while the zone's deletions are as they were read.
func (l *Ledger) sweepDeleted(ctx context.Context) error {
	standing := map[string]*law.Holding{}
	l.mu.Lock()
	for _, x := range l.index {
		standing[x.holding.UID] = x.holding
	}
	l.mu.Unlock()
	room, before := l.layout.Room("deletions"), l.now().Unix()-deletedKept
	var rev int64
	return l.eachPage(ctx, room, &rev, func(deletions string, data []byte, mod int64) error {
		uid := strings.TrimSuffix(strings.TrimPrefix(deletions, room), "/")
		h := standing[uid]
		var d law.Deletions
		if h == nil || layout.Decode(data, &d) != nil {
			return nil // it is purged with its zone, or fsck says so
		}
		stale := d.Stale(h, before)
		cmps, ops := []clientv3.Cmp{revisionIs(deletions, mod)}, []clientv3.Op(nil)
		send := func() error {
			if len(ops) == 0 {
				return nil
			}
			_, err := l.config.Client.Txn(ctx).If(cmps...).Then(ops...).Commit() // where something has changed they have their turn in an hour
			cmps, ops = cmps[:1], nil
			return err
		}
		var at int64
		if err := l.eachPage(ctx, l.layout.Room("deleted")+uid+"/", &at, func(key string, data []byte, mod int64) error {
			var marks law.Deleted
			if layout.Decode(data, &marks) != nil || !stale && (len(d.Bases) == 0 || marks.Counts(d.Bases[0].N)) {
				return nil
			}
			cmps, ops = append(cmps, revisionIs(key, mod)), append(ops, clientv3.OpDelete(key))
			if len(ops) < sweptAtOnce {
				return nil
			}
			return send()
		}); err != nil {
			return err
		}
		return send()
	})
}
