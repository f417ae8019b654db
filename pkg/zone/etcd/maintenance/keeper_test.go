// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/testutil"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/zone/etcd/embed"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/store"
)

const prefix = "/registry/kubizone"

func startSoleMember(t *testing.T, quota int64) (path string, endpoint string, stop func()) {
	t.Helper()
	path = t.TempDir()
	endpoint, stop = runMember(t, path, quota)
	return path, endpoint, stop
}

func runMember(t *testing.T, path string, quota int64) (endpoint string, stop func()) {
	t.Helper()
	dir := must.Get(embed.OpenDir(path, 0))(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	m := must.Get(embed.Start(ctx, embed.Config{Dir: dir, QuotaBytes: quota}))(t)
	stop = func() { m.Stop(); dir.Close() }
	t.Cleanup(stop)
	return m.Endpoints()[0], stop
}

func connectClient(t *testing.T, endpoint string) *clientv3.Client {
	t.Helper()
	client := must.Get(clientv3.New(clientv3.Config{Endpoints: []string{endpoint}, DialTimeout: 10 * time.Second, Logger: zap.NewNop()}))(t)
	t.Cleanup(func() { client.Close() })
	return client
}

func makeKeeper(client *clientv3.Client) *Keeper {
	return quickMeasured(client, metrics.NewKubeRegistry())
}

func quickMeasured(client *clientv3.Client, registry metrics.KubeRegistry) *Keeper {
	k := NewKeeper(client, prefix, registry)
	k.interval, k.intervalFull = 20*time.Millisecond, 20*time.Millisecond
	return k
}

func runKeeper(t *testing.T, k *Keeper) (stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); _ = k.Run(ctx) }()
	stop = func() { cancel(); <-done }
	t.Cleanup(stop)
	return stop
}

func startServer(t *testing.T, endpoint string) *store.Server {
	t.Helper()
	client := must.Get((&store.Etcd{Endpoint: endpoint}).Client())(t)
	t.Cleanup(func() { client.Close() })
	client.KV = Explain(client.KV)
	server := must.Get(store.NewServer(t.Context(), client, prefix))(t)
	server.T = t
	return server
}

// fillStore writes through the ledger until etcd is full, and returns the refusal.
func fillStore(t *testing.T, write func(n int) error) error {
	t.Helper()
	for n := range 100_000 {
		if err := write(n); err != nil {
			return err
		}
	}
	t.Fatal("it never was full")
	return nil
}

func mustBeNoSpace(t *testing.T, err error) {
	t.Helper()
	var refused *apierrors.StatusError
	if !errors.As(err, &refused) || refused.ErrStatus.Code != http.StatusInsufficientStorage || refused.ErrStatus.Reason != ReasonInsufficientStorage {
		t.Fatalf("refused by %T: %v", err, err)
	}
	for _, want := range []string{"etcd is full (NOSPACE)", "nothing was written", "try again in a minute", "docs/operations.md"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q does not say %q", err, want)
		}
	}
	if _, direct := err.(apierrors.APIStatus); !direct {
		t.Errorf("%T is wrapped: the API server would answer 500", err)
	}
}

// State reports the members of etcd, also an unreachable one, the alarms and the time of the last backup.
func TestKeeper_reportsItsState(t *testing.T) {
	_, endpoint, stop := startSoleMember(t, 0)
	client := connectClient(t, endpoint)
	k := makeKeeper(client)
	if state, full, corrupt := k.State(); !state.CheckedAt.IsZero() || full || corrupt {
		t.Errorf("before a check: %+v", state)
	}
	must.Get(k.checkMembers(t.Context()))(t)
	state, full, corrupt := k.State()
	if len(state.Members) != 1 || !state.Members[0].IsLeader || state.Members[0].Quota == 0 || state.Members[0].Size == 0 ||
		time.Since(state.CheckedAt) > time.Minute || full || corrupt || !state.LastBackup.IsZero() {
		t.Errorf("%+v", state)
	}
	at := time.Now().UTC().Truncate(time.Second)
	must.Succeed(t, WriteBackupTime(t.Context(), client, prefix, at))
	must.Succeed(t, k.measureBackup(t.Context()))
	must.Get(k.checkMembers(t.Context()))(t)
	if state, _, _ = k.State(); !state.LastBackup.Equal(at) {
		t.Errorf("backup %s, want %s", state.LastBackup, at)
	}
	stop()
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if _, err := k.checkMembers(ctx); err == nil {
		t.Error("a stopped member answered")
	}
	if state, _, _ = k.State(); len(state.Members) != 1 || state.Members[0].Err == nil || !state.LastBackup.Equal(at) {
		t.Errorf("after the member stopped: %+v", state)
	}
}

// If etcd is full of old revisions, it refuses writes and still answers reads. The Keeper reports this, compacts, and
// clears the alarm. Writes then succeed again, and fsck finds no damage (M2, M4).
func TestKeeper_freesAFullEtcdOfItsHistory(t *testing.T) {
	_, endpoint, _ := startSoleMember(t, 6<<20)
	s := store.On(t, &store.Etcd{Endpoint: endpoint}, prefix)
	server := startServer(t, endpoint)
	store.Must(server.CreateZone(store.Zone("dns", "org", "example.org.", store.Allow("", "*"))))
	store.Must(server.CreateRecord(t.Context(), store.Record("app", "www", "www.example.org.", "TXT", "first")))
	mustBeNoSpace(t, fillStore(t, func(n int) error {
		_, err := server.UpdateRecord(t.Context(), "app", "www", func(r *v1alpha1.Record) { r.Spec.Values = makeValues(n) })
		return err
	}))
	before := server.Record("app", "www")
	if len(server.ListRecords("")) != 1 {
		t.Error("reading does not go on")
	}

	registry := metrics.NewKubeRegistry()
	k := quickMeasured(connectClient(t, endpoint), registry)
	must.Get(k.checkMembers(t.Context()))(t)
	if err := k.Checks()[0].Check(nil); err == nil || !strings.Contains(err.Error(), "NOSPACE") {
		t.Errorf("the health check says: %v", err)
	}
	if err := testutil.GatherAndCompare(registry, strings.NewReader("# HELP kubizone_etcd_nospace [BETA] 1 while etcd refuses writes for want of space (alarm NOSPACE), else 0.\n# TYPE kubizone_etcd_nospace gauge\nkubizone_etcd_nospace 1\n"), "kubizone_etcd_nospace"); err != nil {
		t.Error(err)
	}
	runKeeper(t, k)
	store.Eventually(t, "it takes writes again", func() bool { return k.Checks()[0].Check(nil) == nil })
	if after := server.Record("app", "www"); after.ResourceVersion != before.ResourceVersion {
		t.Errorf("the record went from %s to %s", before.ResourceVersion, after.ResourceVersion)
	}
	store.Must(server.UpdateRecord(t.Context(), "app", "www", func(r *v1alpha1.Record) { r.Spec.Values = []string{"last"} }))
	s.MustBeClean()
}

// If etcd is full of live data, compaction frees nothing. The Keeper then deletes nothing, says that live data exceeds
// the quota, and advises to raise the quota (M2, M4).
func TestKeeper_waitsForQuotaWhereHistoryIsNotTheMatter(t *testing.T) {
	path, endpoint, stop := startSoleMember(t, 4<<20)
	client := connectClient(t, endpoint)
	k := makeKeeper(client)
	n := 0
	for made, err := 0, error(nil); err == nil; made++ { // free pages of bbolt take a few more writes
		var refused error
		for ; refused == nil && n < 10_000; n++ {
			_, refused = client.Put(t.Context(), fmt.Sprintf("alive/%d", n), strings.Repeat("v", 32<<10))
		}
		mustBeNoSpace(t, explainNoSpace(refused))
		if _, err = k.checkMembers(t.Context()); made == 10 {
			t.Fatal("room was made ten times")
		}
	}
	for range 3 {
		full, err := k.checkMembers(t.Context())
		if !full || err == nil || !strings.Contains(err.Error(), "live data exceeds the quota") || !strings.Contains(err.Error(), "raise its quota") {
			t.Fatalf("full %t: %v", full, err)
		}
	}
	alive := store.Must(client.Get(t.Context(), "alive/", clientv3.WithPrefix(), clientv3.WithCountOnly())).Count
	stop()

	endpoint, _ = runMember(t, path, 64<<20)
	client = connectClient(t, endpoint)
	k = makeKeeper(client)
	runKeeper(t, k)
	store.Eventually(t, "the raised quota is used", func() bool {
		_, err := client.Put(t.Context(), "more", "v")
		return err == nil
	})
	if now := store.Must(client.Get(t.Context(), "alive/", clientv3.WithPrefix(), clientv3.WithCountOnly())).Count; now != alive {
		t.Errorf("%d of %d keys are left", now, alive)
	}
}

// A single tenant may write several times the quota in old revisions. The Keeper compacts after a certain amount of
// writes and not only after a time, so etcd does not become full.
func TestKeeper_compactsByWhatIsWritten(t *testing.T) {
	notUnderRace(t)
	const quota = 32 << 20
	_, endpoint, _ := startSoleMember(t, quota)
	client := connectClient(t, endpoint)
	k := makeKeeper(client)
	k.keepHistory = 0
	var first int64
	for n := range 3 * quota / (256 << 10) {
		r, err := client.Put(t.Context(), "zone", strings.Repeat("z", 256<<10)+fmt.Sprint(n))
		if err != nil {
			t.Fatalf("after %d MiB: %v", n*256>>10, err)
		}
		if first == 0 {
			first = r.Header.Revision
		}
		if n%8 == 0 {
			if full, err := k.checkMembers(t.Context()); full || err != nil {
				t.Fatalf("after %d MiB etcd is full: %t, %v", n*256>>10, full, err)
			}
			time.Sleep(20 * time.Millisecond) // etcd frees compacted revisions in the background
		}
	}
	if _, err := client.Get(t.Context(), "zone", clientv3.WithRev(first)); !errors.Is(err, rpctypes.ErrCompacted) {
		t.Errorf("the first write is still there: %v", err)
	}
	now := store.Must(client.Get(t.Context(), "zone"))
	if _, err := client.Get(t.Context(), "zone", clientv3.WithRev(now.Header.Revision)); err != nil {
		t.Errorf("the last one is not: %v", err)
	}
}

// Small histories stay, for watches that resume.
func TestKeeper_leavesShortHistory(t *testing.T) {
	notUnderRace(t)
	_, endpoint, _ := startSoleMember(t, 0)
	client := connectClient(t, endpoint)
	k := makeKeeper(client)
	k.keepHistory = 0
	first := store.Must(client.Put(t.Context(), "k", "v")).Header.Revision
	for n := range 100 {
		store.Must(client.Put(t.Context(), "k", strings.Repeat("v", 64<<10)+fmt.Sprint(n)))
		must.Get(k.checkMembers(t.Context()))(t)
	}
	if _, err := client.Get(t.Context(), "k", clientv3.WithRev(first)); err != nil {
		t.Errorf("6 MiB of 8 GiB were compacted: %v", err)
	}
}

// countFree waits until etcd counts compacted pages. Pages in use by a reader count after a later write.
func countFree(t *testing.T, client *clientv3.Client, endpoint string) {
	t.Helper()
	store.Eventually(t, "etcd counts what is free", func() bool {
		store.Must(client.Put(t.Context(), "other", "v"))
		s := store.Must(client.Status(t.Context(), endpoint))
		return s.DbSizeInUse < s.DbSize/2
	})
}

// The database file of an etcd member does not shrink by itself. If it has reached half of the quota and is more than
// half free, a server defragments the member. Only one server does so at a time, and it leaves the member alone for
// hours afterwards (M1).
func TestKeeper_givesBackWhatIsFree(t *testing.T) {
	notUnderRace(t)
	_, endpoint, _ := startSoleMember(t, 16<<20)
	client := connectClient(t, endpoint)
	for n := range 150 {
		store.Must(client.Put(t.Context(), "k", strings.Repeat("v", 64<<10)+fmt.Sprint(n)))
	}
	revision := store.Must(client.Get(t.Context(), "k")).Header.Revision
	store.Must(client.Compact(t.Context(), revision, clientv3.WithCompactPhysical()))
	size := func() int64 { return store.Must(client.Status(t.Context(), endpoint)).DbSize }
	countFree(t, client, endpoint)
	big := size()

	k := makeKeeper(client)
	k.keepHistory = time.Hour
	if _, err := k.checkMembers(t.Context()); err != nil || size() != big {
		t.Fatalf("a small store was stopped for little: %d from %d, %v", size(), big, err)
	}
	k.minReclaim = 1 << 20
	session := store.Must(concurrency.NewSession(client))
	other := concurrency.NewMutex(session, k.lockKey)
	must.Succeed(t, other.Lock(t.Context()))
	if _, err := k.checkMembers(t.Context()); err != nil || size() != big {
		t.Fatalf("defragmented beside another server: %d from %d, %v", size(), big, err)
	}
	must.Succeed(t, session.Close())
	if _, err := k.checkMembers(t.Context()); err != nil || size() > big/2 {
		t.Fatalf("not given back: %d from %d, %v", size(), big, err)
	}
	for n := range 150 {
		store.Must(client.Put(t.Context(), "k", strings.Repeat("v", 64<<10)+fmt.Sprint(n)))
	}
	store.Must(client.Compact(t.Context(), store.Must(client.Get(t.Context(), "k")).Header.Revision, clientv3.WithCompactPhysical()))
	countFree(t, client, endpoint)
	big = size()
	if _, err := k.checkMembers(t.Context()); err != nil || size() != big {
		t.Fatalf("stopped again for %d from %d, %v", size(), big, err)
	}
}

// One member is defragmented at a time. A member that was defragmented recently and is due again does not keep the
// others from their turn (M1).
func TestKeeper_defragmentsTheNextMember(t *testing.T) {
	_, endpoint, _ := startSoleMember(t, 16<<20)
	client := connectClient(t, endpoint)
	k := makeKeeper(client)
	k.minReclaim = 0
	dueMember := func(id uint64) member {
		header := &pb.ResponseHeader{MemberId: id}
		return member{endpoint, &clientv3.StatusResponse{Header: header, DbSize: 10, DbSizeInUse: 1, DbSizeQuota: 16}}
	}
	members := []member{dueMember(1), dueMember(2), dueMember(3)}
	for turn := range 4 {
		must.Succeed(t, k.defragmentOne(t.Context(), members))
		for i, m := range members {
			done := store.Must(client.Get(t.Context(), k.doneKey(m))).Count == 1
			if want := i <= turn; done != want {
				t.Errorf("turn %d: member %d is done: %v, want %v", turn, m.id(), done, want)
			}
		}
	}
}

// Probe checks at the start whether the server at the address is a real etcd. It writes once, at the first start only.
// A store that speaks only the part of the protocol that Kubernetes uses, such as kine, is refused by name (M3, M6).
func TestProbe_distinguishesAnEtcdFromWhatSpeaksItsProtocol(t *testing.T) {
	_, endpoint, _ := startSoleMember(t, 0)
	client := connectClient(t, endpoint)
	must.Succeed(t, Probe(t.Context(), client, prefix))
	before := store.Must(client.Get(t.Context(), "x")).Header.Revision
	must.Succeed(t, Probe(t.Context(), client, prefix))
	if after := store.Must(client.Get(t.Context(), "x")).Header.Revision; after != before {
		t.Errorf("revision %d after %d: it wrote", after, before)
	}

	for _, refusal := range []error{
		errors.New("unsupported transaction: compare:<target:CREATE>"),
		status.Error(codes.InvalidArgument, "etcdserver: unsupported operations in txn request"),
	} {
		err := Probe(t.Context(), connectClient(t, kubernetesOnly(t, refusal)), prefix)
		if err == nil || !strings.Contains(err.Error(), "is it kine") || !strings.Contains(err.Error(), "--etcd-servers of a real etcd") {
			t.Errorf("%v: %v", refusal, err)
		}
	}
	away := connectClient(t, "http://127.0.0.1:1")
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if err := Probe(ctx, away, prefix); err == nil || strings.Contains(err.Error(), "kine") {
		t.Errorf("an etcd that is away: %v", err)
	}
}

// kubernetesOnly answers every transaction as kine answers unsupported transactions.
func kubernetesOnly(t *testing.T, refusal error) (endpoint string) {
	t.Helper()
	listener := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	server := grpc.NewServer()
	pb.RegisterKVServer(server, refusing{err: refusal})
	go server.Serve(listener)
	t.Cleanup(server.Stop)
	return "http://" + listener.Addr().String()
}

type refusing struct {
	pb.UnimplementedKVServer
	err error
}

func (r refusing) Txn(context.Context, *pb.TxnRequest) (*pb.TxnResponse, error) { return nil, r.err }

func makeValues(n int) (values []string) {
	for i := range 40 {
		values = append(values, strings.Repeat("x", 200)+fmt.Sprint(i, " ", n))
	}
	return values
}

// notUnderRace skips tests of etcd alone: none of our goroutines run beside it, and the race detector makes etcd
// four times slower.
func notUnderRace(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("-short: one step at a time, which the race detector learns nothing from")
	}
}

// If the members of etcd have inconsistent data, etcd raises the alarm CORRUPT and answers nothing. The health check,
// the log and a metric of the server then name this reason (ledger A18).
func TestKeeper_saysThatEtcdIsCorrupt(t *testing.T) {
	_, endpoint, _ := startSoleMember(t, 0)
	client := connectClient(t, endpoint)
	registry := metrics.NewKubeRegistry()
	k := NewKeeper(client, prefix, registry)
	look := func() (string, error) {
		_, _ = k.checkMembers(t.Context())
		families := must.Get(registry.Gather())(t)
		for _, f := range families {
			if f.GetName() == "kubizone_etcd_corrupt" {
				return fmt.Sprint(f.GetMetric()[0].GetGauge().GetValue()), k.Checks()[1].Check(nil)
			}
		}
		return "", k.Checks()[1].Check(nil)
	}
	if value, err := look(); value != "0" || err != nil {
		t.Errorf("%s, %v", value, err)
	}
	status := store.Must(client.Status(t.Context(), endpoint))
	alarm := &pb.AlarmRequest{Action: pb.AlarmRequest_ACTIVATE, MemberID: status.Header.MemberId, Alarm: pb.AlarmType_CORRUPT}
	store.Must(pb.NewMaintenanceClient(client.ActiveConnection()).Alarm(t.Context(), alarm))
	if value, err := look(); value != "1" || err == nil || !strings.Contains(err.Error(), "alarm CORRUPT") {
		t.Errorf("%s, %v", value, err)
	}
	alarm.Action = pb.AlarmRequest_DEACTIVATE
	store.Must(pb.NewMaintenanceClient(client.ActiveConnection()).Alarm(t.Context(), alarm))
	if value, err := look(); value != "0" || err != nil {
		t.Errorf("%s, %v", value, err)
	}
}
