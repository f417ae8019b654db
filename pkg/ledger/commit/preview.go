// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package commit

import (
	"context"
	"errors"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"kubi.zone/kubizone/pkg/law"
	"kubi.zone/kubizone/pkg/ledger/etcd"
	"kubi.zone/kubizone/pkg/ledger/facts"
)

// Preview decides a write, and proves the decision as a refusal is proved: by its compares, with nothing to put.
// Stale facts are read, and the decision is made anew. The object itself is not compared: the caller has just read
// it.
func (com *Committer) Preview(ctx context.Context, w *Write) (out law.Outcome, err error) {
	defer com.Recover(ctx, nil, &err)
	for s := com.mem.Session(false); ; s.Reset() {
		out, err = s.Decide(ctx, w.Ask)
		if errors.Is(err, facts.ErrMoved) {
			return out, TooBusy(w.Resource, w.Name, err)
		}
		if err != nil {
			return out, com.Late(w, err)
		}
		cmps := s.Guards()
		most := com.mem.MaxCompares()
		if len(cmps) > most && s.Depth > facts.FlatName {
			s.Depth = facts.FlatName
			continue
		}
		if len(cmps) > most {
			return out, tooManyFacts(w, len(cmps), most)
		}
		var orelse []clientv3.Op
		for _, z := range s.Zones {
			orelse = append(orelse, clientv3.OpGet(z.Key))
		}
		com.mem.Stats.Transactions.Add(1)
		r, err := com.mem.Client.Txn(ctx).If(cmps...).Else(orelse...).Commit()
		if errors.Is(err, rpctypes.ErrTooManyOps) && com.mem.Narrow(len(cmps)) {
			continue
		}
		if err != nil || r.Succeeded {
			return out, com.Late(w, err)
		}
		if err := com.explainPreview(ctx, s, r); err != nil {
			return out, err
		}
	}
}

// explainPreview takes in which zones have moved where the compares of a preview do not hold; where none has, a name is
// not held as it is remembered. r has the zones of the session, in order.
func (com *Committer) explainPreview(ctx context.Context, s *facts.Session, r *clientv3.TxnResponse) error {
	moved := false
	for i, z := range s.Zones {
		kv := etcd.One(r.Responses[i])
		moved = moved || etcd.ModRevision(kv) != z.Mod
		if err := com.mem.Moved(ctx, z.Key, kv, r.Header.Revision); err != nil {
			return err
		}
	}
	if !moved {
		com.mem.Mu.Lock()
		com.mem.Suspect(s)
		com.mem.Mu.Unlock()
	}
	return nil
}
