// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/raft/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/store"
)

type fate int

const (
	answered    fate = iota
	lostBefore       // lost on the way to etcd
	lostAfter        // executed, and the answer lost
	arrivesLate      // executed after the next transaction, and the answer lost
	refusedByLeader
)

// line is a connection to etcd. It applies the next fate to each write transaction, and passes reads.
type line struct {
	clientv3.KV
	mu     sync.Mutex
	next   func() fate
	behind func() // the delayed transaction
	// between runs before the second attempt of a write.
	between func()
	tries   int
}

func (l *line) Txn(ctx context.Context) clientv3.Txn {
	return &lineTxn{explainedTxn{kv: l.KV, parent: ctx}, l}
}

type lineTxn struct {
	explainedTxn
	line *line
}

func (t *lineTxn) If(cmps ...clientv3.Cmp) clientv3.Txn { t.explainedTxn.If(cmps...); return t }
func (t *lineTxn) Then(ops ...clientv3.Op) clientv3.Txn { t.explainedTxn.Then(ops...); return t }
func (t *lineTxn) Else(ops ...clientv3.Op) clientv3.Txn { t.explainedTxn.Else(ops...); return t }

func (t *lineTxn) Commit() (*clientv3.TxnResponse, error) {
	commit := func() (*clientv3.TxnResponse, error) {
		return t.sendOnce(context.WithoutCancel(t.parent), t.cmps, t.then, t.orelse)
	}
	if !hasWrites(t.then) {
		return commit()
	}
	t.line.mu.Lock()
	is, behind, between := t.line.next(), t.line.behind, t.line.between
	if t.line.behind = nil; t.line.tries > 0 {
		t.line.between = nil
	} else {
		between = nil
	}
	t.line.tries++
	t.line.mu.Unlock()
	if between != nil {
		between()
	}
	if behind != nil {
		defer behind()
	}
	switch is {
	case lostBefore:
	case lostAfter:
		_, _ = commit()
	case arrivesLate:
		t.line.mu.Lock()
		t.line.behind = func() { _, _ = commit() }
		t.line.mu.Unlock()
	case refusedByLeader:
		return nil, status.Error(codes.Unknown, raft.ErrProposalDropped.Error())
	default:
		return commit()
	}
	return nil, rpctypes.ErrTimeoutDueToConnectionLost
}

func fatesOf(all ...fate) func() fate {
	return func() fate {
		if len(all) == 0 {
			return answered
		}
		first := all[0]
		all = all[1:]
		return first
	}
}

// A write with a lost answer is executed once, and the client gets the result: success, refusal, or "unknown" if
// another write has hidden the outcome.
func TestOutcome_isFound(t *testing.T) {
	t.Parallel()
	_, endpoint, _ := startSoleMember(t, 0)
	client := connectClient(t, endpoint)
	type outcome string
	const done, conflict, doubt outcome = "done", "conflict", "not known"
	// Like a change of a Record.
	change := []string{"put zone", "put object", "add step"}
	many := change
	for n := range 2 * maxProbes {
		many = append(many, fmt.Sprintf("add key%d", n))
	}
	for what, test := range map[string]struct {
		write   []string
		fates   []fate
		between func(put func(key, value string), del func(key string))
		want    outcome
		version int64 // of the zone, or of the object in writes without a zone: 1 before the write
	}{
		"answered":                      {change, nil, nil, done, 2},
		"not arrived":                   {change, []fate{lostBefore}, nil, done, 2},
		"never arrives":                 {change, []fate{lostBefore, lostBefore, lostBefore, lostBefore}, nil, done, 2},
		"carried out":                   {change, []fate{lostAfter}, nil, done, 2},
		"carried out by the second":     {change, []fate{lostBefore, lostAfter}, nil, done, 2},
		"the first comes last":          {change, []fate{arrivesLate}, nil, done, 2},
		"refused by a leader that goes": {change, []fate{refusedByLeader, refusedByLeader}, nil, done, 2},
		"another was first": {change, []fate{lostBefore}, func(put func(key, value string), _ func(string)) {
			put("zone", "theirs")
			put("step", "theirs")
		}, conflict, 2},
		"another was first, and it comes late": {change, []fate{arrivesLate}, func(put func(key, value string), _ func(string)) {
			put("zone", "theirs")
			put("step", "theirs")
		}, conflict, 2},
		"carried out, and another came behind": {change, []fate{lostAfter}, func(put func(key, value string), _ func(string)) {
			put("zone", "theirs")
			put("object", "theirs")
			put("step2", "theirs")
		}, done, 3},
		"another moved the zone alone": {change, []fate{lostBefore}, func(put func(key, value string), _ func(string)) {
			put("zone", "theirs")
		}, conflict, 2},
		"another change of the same object": {change, []fate{lostBefore}, func(put func(key, value string), _ func(string)) {
			put("zone", "theirs")
			put("object", "theirs")
			put("step", "theirs")
		}, conflict, 2},
		"a new object, and another was first, with two steps": {[]string{"put zone", "add new", "add step"}, []fate{lostBefore},
			func(put func(key, value string), _ func(string)) {
				put("zone", "theirs")
				put("step2", "theirs")
			}, conflict, 2},
		"another was first, and put an equal value at another key": {[]string{"put zone", "add new", "add count"}, []fate{lostBefore},
			func(put func(key, value string), _ func(string)) {
				put("zone", "theirs")
				put("count", "ours")
			}, conflict, 2},
		"another was first, and put equal values at all other keys": {change, []fate{lostBefore},
			func(put func(key, value string), _ func(string)) {
				put("zone", "theirs")
				put("object", "ours")
				put("step", "ours")
			}, conflict, 2},
		"carried out, and the new object was deleted": {[]string{"put zone", "add new", "add step"}, []fate{lostAfter},
			func(put func(key, value string), del func(string)) {
				put("zone", "theirs")
				del("new")
			}, done, 3},
		"carried out, and all was deleted": {[]string{"put zone", "add step"}, []fate{lostAfter},
			func(_ func(key, value string), del func(string)) {
				del("step")
				del("zone")
			}, done, 0},
		"another deleted the zone": {change, []fate{lostBefore},
			func(_ func(key, value string), del func(string)) { del("zone") }, conflict, 0},
		"many keys":       {many, []fate{lostAfter}, nil, done, 2},
		"the object went": {[]string{"put zone", "del object", "add step"}, []fate{lostAfter}, nil, done, 2},
		"one object":      {[]string{"put object"}, []fate{lostAfter}, nil, done, 2},
		"one object, and another came first": {[]string{"put object"}, []fate{lostBefore},
			func(put func(key, value string), _ func(string)) { put("object", "theirs") }, conflict, 2},
		"nothing keeps it from being carried out twice": {[]string{"add step"}, []fate{lostBefore}, nil, doubt, 0},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			at := strings.ReplaceAll(t.Name(), " ", "-") + "/"
			put := func(key, value string) { must.Get(client.Put(t.Context(), at+key, value))(t) }
			put("zone", "before")
			put("object", "before")
			revisionOf := func(key string) (revision, version int64) {
				if kvs := must.Get(client.Get(t.Context(), at+key))(t).Kvs; len(kvs) > 0 {
					return kvs[0].ModRevision, kvs[0].Version
				}
				return 0, 0
			}
			var cmps []clientv3.Cmp
			var then []clientv3.Op
			judged := "object"
			for _, one := range test.write {
				verb, key, _ := strings.Cut(one, " ")
				if verb == "del" {
					then = append(then, clientv3.OpDelete(at+key))
				} else {
					then = append(then, clientv3.OpPut(at+key, "ours"))
				}
				if revision, _ := revisionOf(key); verb != "add" {
					cmps = append(cmps, clientv3.Compare(clientv3.ModRevision(at+key), "=", revision))
				}
				if key == "zone" || key == "step" && len(test.write) == 1 {
					judged = key
				}
			}
			l := &line{KV: client.KV, next: fatesOf(test.fates...)}
			if test.between != nil {
				l.between = func() {
					test.between(put, func(key string) { must.Get(client.Delete(t.Context(), at+key))(t) })
				}
			}
			response, err := Explain(l).Txn(t.Context()).If(cmps...).Then(then...).Else(clientv3.OpGet(at + "zone")).Commit()
			got := done
			switch {
			case apierrors.IsTimeout(err):
				got = doubt
			case err != nil:
				t.Fatal(err)
			case !response.Succeeded:
				got = conflict
				if len(response.Responses) != 1 || response.Responses[0].GetResponseRange() == nil {
					t.Errorf("a refusal reads %v", response.Responses)
				}
			}
			_, version := revisionOf(judged)
			if got != test.want || version != test.version {
				t.Errorf("%s at version %d, want %s at %d", got, version, test.want, test.version)
			}
			if got != done {
				return
			}
			// The answer equals etcd's own.
			step := must.Get(client.Get(t.Context(), at+"step"))(t)
			for i, one := range response.Responses {
				at := one.GetResponsePut().GetHeader().GetRevision() + one.GetResponseDeleteRange().GetHeader().GetRevision()
				if at != response.Header.Revision || len(step.Kvs) > 0 && at != step.Kvs[0].ModRevision {
					t.Errorf("response %d of %d is at revision %d, the answer at %d, the step %v", i, len(then), at,
						response.Header.Revision, step.Kvs)
				}
			}
		})
	}
}

// The search for a key's next change finds the change while etcd has its revision, even if the compared revision is
// compacted. Afterwards the search fails, because an earlier change may be compacted, too.
func TestOutcome_findsTheNextChange(t *testing.T) {
	t.Parallel()
	_, endpoint, _ := startSoleMember(t, 0)
	client := connectClient(t, endpoint)
	put := func(key string) int64 { return must.Get(client.Put(t.Context(), key, ""))(t).Header.Revision }
	was := put("key")
	var others []int64
	for range 100 {
		others = append(others, put("other"))
	}
	want := put("key")
	for range 100 {
		put("other")
	}
	put("key")
	must.Get(client.Delete(t.Context(), "key"))(t)
	now := put("other")
	sought := &explainedTxn{kv: client.KV, parent: t.Context()}
	find := func(want int64, err error) {
		t.Helper()
		got, failed := sought.findNextChange(t.Context(), "key", was, now)
		if got != want || !errors.Is(failed, err) {
			t.Errorf("%d, %v; want %d, %v", got, failed, want, err)
		}
	}
	find(want, nil)
	for _, at := range []int64{others[0], others[50], others[98]} {
		must.Get(client.Compact(t.Context(), at))(t)
		find(want, nil)
	}
	must.Get(client.Compact(t.Context(), want+1))(t)
	find(0, rpctypes.ErrCompacted)
	must.Get(client.Compact(t.Context(), now))(t)
	find(0, rpctypes.ErrCompacted)
}

// Several writers extend a chain of steps over lines with losses and delays. Acknowledged steps are in the chain
// once, refused steps never.
func TestOutcome_chainOfManyWriters(t *testing.T) {
	t.Parallel()
	_, endpoint, _ := startSoleMember(t, 0)
	client := connectClient(t, endpoint)
	must.Get(client.Put(t.Context(), "head", "0"))(t)
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	var mu sync.Mutex
	fates := map[string]string{} // by token
	var writers sync.WaitGroup
	for i := range 4 {
		random := rand.New(rand.NewPCG(seed, uint64(i)))
		l := &line{KV: client.KV, next: func() fate { return fate(random.IntN(int(refusedByLeader) + 1)) }}
		kv := Explain(l)
		writers.Go(func() {
			for n := range 15 {
				token := fmt.Sprintf("%d-%d", i, n)
				r, err := client.Get(t.Context(), "head")
				if err != nil {
					t.Error(err)
					return
				}
				head := r.Kvs[0]
				last, _ := strconv.Atoi(string(head.Value))
				last += 1 + random.IntN(3)
				response, err := kv.Txn(t.Context()).If(clientv3.Compare(clientv3.ModRevision("head"), "=", head.ModRevision)).
					Then(clientv3.OpPut("head", strconv.Itoa(last)), clientv3.OpPut("object/"+token, ""),
						clientv3.OpPut(fmt.Sprintf("step/%06d", last), token)).Commit()
				is := "done"
				switch {
				case apierrors.IsTimeout(err):
					is = "not known"
				case err != nil:
					t.Error(err)
				case !response.Succeeded:
					is = "refused"
				}
				mu.Lock()
				fates[token] = is
				mu.Unlock()
			}
		})
	}
	writers.Wait()
	counts, chain := map[string]int{}, map[string]int{}
	for _, kv := range must.Get(client.Get(t.Context(), "step/", clientv3.WithPrefix()))(t).Kvs {
		chain[string(kv.Value)]++
	}
	for token, is := range fates {
		counts[is]++
		if n := chain[token]; is == "done" && n != 1 || is == "refused" && n != 0 || n > 1 {
			t.Errorf("%s was answered %q, and stands %d times", token, is, n)
		}
	}
	t.Log(counts)
	if counts["done"] == 0 {
		t.Error(errors.New("nothing was written"))
	}
}

func TestOutcome_whileLeadersHandOver(t *testing.T) {
	notUnderRace(t)
	t.Parallel()
	var clients []*clientv3.Client
	for _, endpoint := range startThreeMembers(t, 0) {
		client := connectClient(t, endpoint)
		client.KV = Explain(client.KV)
		clients = append(clients, client)
	}
	ctx, enough := context.WithCancel(t.Context())
	var writers sync.WaitGroup
	for i, client := range clients {
		for j := range 2 {
			key := fmt.Sprintf("k%d-%d", i, j)
			at := store.Must(client.Put(t.Context(), key, "")).Header.Revision
			writers.Go(func() {
				for n := 0; ctx.Err() == nil; n++ {
					response, err := client.Txn(t.Context()).If(clientv3.Compare(clientv3.ModRevision(key), "=", at)).
						Then(clientv3.OpPut(key, fmt.Sprint(n))).Commit()
					if err != nil || !response.Succeeded {
						t.Errorf("%s, write %d: %v %v", key, n, response, err)
						return
					}
					at = response.Header.Revision
				}
			})
		}
	}
	moves := 10
	for range moves {
		time.Sleep(100 * time.Millisecond)
		var members []*clientv3.StatusResponse
		for _, client := range clients {
			members = append(members, store.Must(client.Status(t.Context(), client.Endpoints()[0])))
		}
		for i, m := range members {
			if m.Leader == m.Header.MemberId {
				if _, err := clients[i].MoveLeader(t.Context(), members[(i+1)%len(members)].Header.MemberId); err != nil {
					t.Log(err)
				}
			}
		}
	}
	enough()
	writers.Wait()
}
