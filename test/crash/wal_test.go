// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package crash

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/server/v3/storage/wal"
	"go.etcd.io/etcd/server/v3/storage/wal/walpb"
	"go.uber.org/zap"
	"google.golang.org/protobuf/proto"

	"kubi.zone/kubizone/test/must"
)

var (
	walOf  = flag.String("wal", "", "with -v, TestWAL prints the transactions in the log of this member, kept by -keep")
	walKey = flag.String("key", "", "only the transactions with a key that contains this text")
)

// TestWAL prints the transactions of a kept etcd member: what each one compares, puts and deletes. The log has also
// those whose compares failed, and those before a compaction.
func TestWAL(t *testing.T) {
	if *walOf == "" {
		t.Skip("prints the log of a member only with -wal")
	}
	w := must.Get(wal.OpenForRead(zap.NewNop(), filepath.Join(*walOf, "member", "wal"), &walpb.Snapshot{}))(t)
	defer w.Close()
	_, _, entries, err := w.ReadAll()
	must.Succeed(t, err)
	for _, e := range entries {
		var r pb.InternalRaftRequest
		if proto.Unmarshal(e.Data, &r) != nil || r.Txn == nil {
			continue
		}
		if text := describeTxn(r.Txn); strings.Contains(text, *walKey) {
			fmt.Printf("entry %d of term %d\n%s", e.GetIndex(), e.GetTerm(), text)
		}
	}
}

func describeTxn(txn *pb.TxnRequest) string {
	var b strings.Builder
	for _, c := range txn.Compare {
		fmt.Fprintf(&b, "  compare %s%s at %d\n", c.Key, describeEnd(c.RangeEnd), c.GetModRevision())
	}
	for _, op := range txn.Success {
		if put := op.GetRequestPut(); put != nil {
			fmt.Fprintf(&b, "  put     %s %.400q\n", put.Key, put.Value)
		} else if d := op.GetRequestDeleteRange(); d != nil {
			fmt.Fprintf(&b, "  delete  %s%s\n", d.Key, describeEnd(d.RangeEnd))
		}
	}
	return b.String()
}

func describeEnd(end []byte) string {
	if len(end) == 0 {
		return ""
	}
	return fmt.Sprintf("..%s", end)
}

// keptFile returns the path of a file of the test under -keep, or "" without.
func keptFile(t *testing.T, name string) string {
	t.Helper()
	if *keep == "" {
		return ""
	}
	dir := filepath.Join(*keep, filepath.FromSlash(t.Name()))
	must.Succeed(t, os.MkdirAll(dir, 0o700))
	return filepath.Join(dir, name)
}
