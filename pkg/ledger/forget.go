// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"context"
	"strings"

	clientv3 "go.etcd.io/etcd/client/v3"

	"kubi.zone/kubizone/pkg/law"
)

// deletedKept is for how many seconds longer than decisions look at them the marks of deleted RRsets stay: a server
// whose clock is behind by less still finds what it counts (S7.5).
const deletedKept = 3600

// sweepDeleted takes the marks of deleted RRsets away that no decision looks at any more. One that comes upon such a mark passes over
// it, so they go without their zone's object; what goes meanwhile has written the zone's deletions too, and a mark of what comes is left only
// while a content counts, of which there is none here.
func (l *Ledger) sweepDeleted(ctx context.Context) error {
	standing := map[string]*law.Holding{}
	l.mu.Lock()
	for _, x := range l.index {
		standing[x.holding.UID] = x.holding
	}
	l.mu.Unlock()
	room, before := l.layout.room("deletions"), l.now().Unix()-deletedKept
	var rev int64
	return l.eachPage(ctx, room, &rev, func(key string, data []byte, mod int64) error {
		uid := strings.TrimSuffix(strings.TrimPrefix(key, room), "/")
		var d law.Deletions
		if h := standing[uid]; h == nil || decode(data, &d) != nil || !d.Stale(h, before) {
			return nil // it is purged with its zone, fsck says so, or it counts
		}
		for {
			r, err := l.config.Client.Get(ctx, l.layout.room("deleted")+uid+"/", clientv3.WithPrefix(), clientv3.WithLimit(sweptAtOnce), clientv3.WithKeysOnly())
			if err != nil || len(r.Kvs) == 0 {
				return err
			}
			ops := make([]clientv3.Op, 0, len(r.Kvs))
			for _, kv := range r.Kvs {
				ops = append(ops, clientv3.OpDelete(string(kv.Key)))
			}
			if done, err := l.config.Client.Txn(ctx).If(revisionIs(key, mod)).Then(ops...).Commit(); err != nil || !done.Succeeded || !r.More {
				return err
			}
		}
	})
}
