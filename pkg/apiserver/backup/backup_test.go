// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package backup

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apiserver/pkg/server/options/encryptionconfig"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/storage/storagebackend"
	"k8s.io/apiserver/pkg/storage/value"
	"k8s.io/utils/ptr"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/apiserver"
	"kubi.zone/kubizone/pkg/dns/serial"
	"kubi.zone/kubizone/pkg/zone/etcd/embed"
	"kubi.zone/kubizone/pkg/zone/law"
	"kubi.zone/kubizone/pkg/zone/ledger"
	"kubi.zone/kubizone/pkg/zone/ledger/layout"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/store"
)

type running struct {
	*store.Server
	member *embed.Member
	where  storagebackend.TransportConfig
	store  *store.Store
}

func startStore(t *testing.T, path string, change ...func(*store.Store)) *running {
	t.Helper()
	dir := must.Get(embed.OpenDir(path, 0))(t)
	t.Cleanup(func() { dir.Close() })
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	member := must.Get(embed.Start(ctx, embed.Config{Dir: dir}))(t)
	t.Cleanup(member.Stop)
	s := store.On(t, &store.Etcd{Endpoint: member.Endpoints()[0]}, apiserver.Prefix)
	for _, f := range change {
		f(s)
	}
	return &running{Server: s.Server(), member: member, where: storagebackend.TransportConfig{ServerList: member.Endpoints()}, store: s}
}

func restoreBackup(t *testing.T, file string, change ...func(*Restore)) (path string, lines string, err error) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "data")
	var text strings.Builder
	r := Restore{Backup: file, DataDir: path, Report: func(line string) { fmt.Fprintln(&text, line) }, Log: func(line string) { t.Log(line) }}
	for _, f := range change {
		f(&r)
	}
	_, err = r.Run(t.Context())
	return path, text.String(), err
}

func lastSerial(t *testing.T, s *running, zone string) serial.Serial {
	t.Helper()
	return serial.Serial(s.Zone("dns", zone).Status.Serial)
}

// B1, B3, B4, S6.9, S6.11: a backup under load restores clean, every serial is ahead of the serials handed out since,
// and no watch resumes from before.
func TestBackup_underLoadIsRestoredAheadOfWhatWasHandedOut(t *testing.T) {
	old := startStore(t, t.TempDir())
	store.Must(old.CreateZone(store.Zone("dns", "org", "example.org.", store.Allow("", "*"))))
	store.Must(old.CreateZone(store.Zone("dns", "com", "example.com.")))
	store.Must(old.CreateDelegation(store.Delegation("dns", "app", "com", []string{"app"}, "*")))
	store.Must(old.CreateZone(store.Zone("dns", "gone", "gone.test.", store.Allow("", "*"))))
	must.Succeed(t, old.DeleteZone("dns", "gone"))

	ctx, stop := context.WithCancel(t.Context())
	var writers sync.WaitGroup
	var written atomic.Int64
	for i, zone := range []string{"example.org.", "example.com."} {
		writers.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				if _, err := old.CreateRecord(ctx, store.Record("app", fmt.Sprintf("r%d-%d", i, n), fmt.Sprintf("r%d.%s", n, zone), "A", "192.0.2.1")); err != nil && ctx.Err() == nil {
					t.Error(err)
					return
				}
				written.Add(1)
			}
		})
	}
	store.Eventually(t, "some writes", func() bool { return written.Load() > 50 })
	acknowledged := written.Load()
	file := filepath.Join(t.TempDir(), "backup")
	m := must.Get(Take(t.Context(), old.where, file))(t)
	if int64(m.Records) < acknowledged || m.Zones != 2 || m.Format != ledger.Format || m.LeastReader == 0 {
		t.Errorf("%d records were written before it began: %+v", acknowledged, m)
	}
	after := written.Load()
	// Zones after the backup.
	late := store.Zone("dns", "late", "late.test.")
	store.Must(old.CreateZone(late))
	high := store.Zone("dns", "high", "high.test.")
	high.Spec.MinimumSerial = ptr.To[int64](3000000000)
	store.Must(old.CreateZone(high))
	for i := range 3 {
		store.Must(old.UpdateZone("dns", "late", func(z *v1alpha1.Zone) { z.Spec.TTL = ptr.To(int32(600 + i)) }))
		store.Must(old.UpdateZone("dns", "high", func(z *v1alpha1.Zone) { z.Spec.TTL = ptr.To(int32(600 + i)) }))
	}
	store.Must(old.CreateZone(store.Zone("dns", "gone", "gone.test.", store.Allow("", "*"))))
	gone := lastSerial(t, old, "gone")
	unknown := map[string]serial.Serial{"late": lastSerial(t, old, "late"), "high": lastSerial(t, old, "high")}
	store.Eventually(t, "writes after the backup", func() bool { return written.Load() > after+50 })
	stop()
	writers.Wait()
	handedOut := map[string]serial.Serial{"org": lastSerial(t, old, "org"), "com": lastSerial(t, old, "com")}
	lastRevision := store.Must(old.store.Client.Client.Get(t.Context(), "x")).Header.Revision
	old.store.Damaged = true // can be checked only while running
	old.member.Stop()

	path, message, err := restoreBackup(t, file)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(message, "2 zones and ") {
		t.Errorf("said: %s", message)
	}
	again := startStore(t, path)
	if n := len(again.ListRecords("")); n != m.Records {
		t.Errorf("%d records, %d in the backup", n, m.Records)
	}
	if _, err := again.CreateRecord(t.Context(), store.Record("app", "after", "after.example.com.", "A", "192.0.2.1")); err != nil {
		t.Errorf("the rule of a Delegation: %v", err)
	}
	for zone, was := range handedOut {
		if now := lastSerial(t, again, zone); !now.Ahead(was) {
			t.Errorf("zone %s: serial %d after %d was handed out; want it ahead", zone, now, was)
		}
	}
	// The name of a zone that the backup has as removed continues its serials too: those given after the backup.
	store.Must(again.CreateZone(store.Zone("dns", "gone", "gone.test.", store.Allow("", "*"))))
	if now := lastSerial(t, again, "gone"); !now.Ahead(gone) {
		t.Errorf("the removed zone comes back with serial %d after %d", now, gone)
	}

	// So do names unknown to the backup, when applied again (S6.9).
	for name, spec := range map[string]*v1alpha1.Zone{"late": store.Zone("dns", "late", "late.test."), "high": store.Zone("dns", "high", "high.test.")} {
		if name == "high" {
			spec.Spec.MinimumSerial = ptr.To[int64](3000000000)
		}
		store.Must(again.CreateZone(spec))
		if now := lastSerial(t, again, name); !now.Ahead(unknown[name]) {
			t.Errorf("zone %s, made after the backup: serial %d after %d was handed out; want it ahead", name, now, unknown[name])
		}
	}
	now := store.Must(again.store.Client.Client.Get(t.Context(), "x")).Header.Revision
	if now <= lastRevision {
		t.Fatalf("revision %d after %d was handed out", now, lastRevision) // a watch would wait for this revision
	}
	watch := <-again.store.Client.Client.Watch(t.Context(), apiserver.Prefix, clientv3.WithPrefix(), clientv3.WithRev(lastRevision))
	if !errors.Is(watch.Err(), rpctypes.ErrCompacted) {
		t.Errorf("a watch from before goes on: %v", watch)
	}
	if _, err := os.Stat(filepath.Join(path, "restoring")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("something is left behind: %v", err)
	}
}

// B2, B3: damage in any page under correct checksums is refused, and leaves nothing behind.
func TestRestore_ofDamageUnderRightChecksumsIsRefused(t *testing.T) {
	old := startStore(t, t.TempDir())
	store.Must(old.CreateZone(store.Zone("dns", "org", "example.org.", store.Allow("", "*"))))
	for i := range 50 {
		store.Must(old.CreateRecord(t.Context(), store.Record("dns", fmt.Sprint("r", i), fmt.Sprintf("r%d.example.org.", i), "A", "192.0.2.1")))
	}
	file := filepath.Join(t.TempDir(), "backup")
	manifest, err := Take(t.Context(), old.where, file)
	if err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := embed.CheckSnapshot(file); err != nil {
		t.Fatalf("a whole file: %v", err)
	}
	// damage adapts the checksums in file and manifest.
	damage := func(change func(pages []byte)) {
		t.Helper()
		content := slices.Clone(whole)
		pages := content[:len(content)-sha256.Size]
		change(pages)
		sum := sha256.Sum256(pages)
		copy(content[len(pages):], sum[:])
		must.Succeed(t, os.WriteFile(file, content, 0o600))
		damaged := *manifest
		if damaged.Bytes, damaged.SHA256, err = digestFile(file); err != nil {
			t.Fatal(err)
		}
		must.Succeed(t, damaged.writeFile(file))
	}
	size, found := os.Getpagesize(), 0
	for page := 2; page*size < len(whole)-sha256.Size; page++ {
		for _, with := range []byte{0x00, 0x7f, 0xff} {
			damage(func(pages []byte) {
				for i := range 64 {
					pages[page*size+i] = with
				}
			})
			if embed.CheckSnapshot(file) != nil { // a free page does not matter
				found++
			}
		}
	}
	if found == 0 {
		t.Error("no damage is found")
	}
	damage(func(pages []byte) {
		for i := 2 * size; i < len(pages); i++ {
			pages[i] = 0xff
		}
	})
	path, _, err := restoreBackup(t, file)
	if err == nil || !strings.Contains(err.Error(), "is damaged") || !strings.Contains(err.Error(), "take another backup") {
		t.Errorf("%v", err)
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("something is left behind: %v", err)
	}
}

func versionsOf(t *testing.T, s *running) (objects map[string]string, list int64) {
	t.Helper()
	all := &v1alpha1.RecordList{}
	must.Succeed(t, s.Records.GetList(t.Context(), "/kubi.zone/records/", storage.ListOptions{Recursive: true,
		Predicate: storage.Everything}, all))
	objects = map[string]string{}
	for _, r := range all.Items {
		objects[r.Name] = fmt.Sprint(r.Spec.Values, "@", r.ResourceVersion)
	}
	return objects, store.Must(strconv.ParseInt(all.ResourceVersion, 10, 64))
}

// A backup of an encrypted store contains no data in plain, and restores only with the same encryption configuration,
// which raises the serials of zones and of removed names, and checks the store. Without the keys the restore fails and
// leaves nothing on disk (B3). Objects of a shared revision keep their versions; later ones are ahead of all before the
// loss.
func TestRestore_ofWhatIsEncryptedKeepsVersionsInsideARevision(t *testing.T) {
	configuration, transformer := writeEncryption(t, "one", [32]byte{1})
	encrypted := store.Encrypted(transformer)
	old := startStore(t, t.TempDir(), encrypted)
	store.Must(old.CreateZone(store.Zone("dns", "org", "example.org.", store.Allow("", "*"))))
	store.Must(old.CreateRecord(t.Context(), store.Record("app", "txt", "txt.example.org.", "TXT", "hidden-data")))
	store.Must(old.CreateZone(store.Zone("dns", "gone", "gone.test.")))
	gone := lastSerial(t, old, "gone")
	must.Succeed(t, old.DeleteZone("dns", "gone"))
	at := layout.Keys{Prefix: apiserver.Prefix}
	var keys []string
	for i := range 40 {
		r := store.Must(old.CreateRecord(t.Context(), store.Record("app", fmt.Sprint("r", i), fmt.Sprintf("r%d.example.org.", i), "A", fmt.Sprint("192.0.2.", i))))
		keys = append(keys, at.Record(r.Namespace, r.Name))
	}
	old.store.Together(keys...)
	octets := 0
	for _, kv := range store.Must(old.store.Client.Client.Get(t.Context(), at.Objects("records"), clientv3.WithPrefix())).Kvs {
		if kv.Value[0] >= 0x80 {
			octets++
		}
	}
	if octets != 39 {
		t.Errorf("%d of 40 values have an octet", octets)
	}
	file := filepath.Join(t.TempDir(), "backup")
	store.Must(Take(t.Context(), old.where, file))
	if bytes.Contains(store.Must(os.ReadFile(file)), []byte("hidden-data")) {
		t.Error("the backup holds data in plain")
	}
	before, _ := versionsOf(t, old)
	old.store.Together(keys[:20]...) // lost
	_, last := versionsOf(t, old)
	was := lastSerial(t, old, "org")
	old.member.Stop()
	old.store.Damaged = true // can be checked only while running

	if path, _, err := restoreBackup(t, file); err == nil {
		t.Error("restored without the keys")
	} else if _, left := os.Stat(path); !errors.Is(left, os.ErrNotExist) || !strings.Contains(err.Error(), "encrypt") {
		t.Errorf("without the keys: %v, %v", err, left)
	}
	path, _, err := restoreBackup(t, file, func(r *Restore) { r.EncryptionProviderConfigFile = configuration })
	if err != nil {
		t.Fatal(err)
	}
	again := startStore(t, path, encrypted)
	if now := lastSerial(t, again, "org"); !now.Ahead(was + 100) {
		t.Errorf("serial %d after %d", now, was)
	}
	after, list := versionsOf(t, again)
	if !maps.Equal(after, before) {
		t.Errorf("the records are\n%v\nnot\n%v", after, before)
	}
	if list <= last {
		t.Errorf("a list is at %d after %d was handed out", list, last)
	}
	watched, err := again.Records.Watch(t.Context(), "/kubi.zone/records/", storage.ListOptions{ResourceVersion: fmt.Sprint(last), Recursive: true, Predicate: storage.Everything})
	if err != nil {
		t.Fatal(err)
	}
	if e := <-watched.ResultChan(); !apierrors.IsResourceExpired(apierrors.FromObject(e.Object)) && !apierrors.IsGone(apierrors.FromObject(e.Object)) {
		t.Errorf("a watch from before goes on: %v", e)
	}
	changed := store.Must(again.UpdateRecord(t.Context(), "app", "r3", func(r *v1alpha1.Record) { r.Spec.Values = []string{"192.0.2.99"} }))
	if at := store.Must(strconv.ParseInt(changed.ResourceVersion, 10, 64)); at <= list {
		t.Errorf("what is written is at %d, the list before it at %d", at, list)
	}
	if err := again.DeleteRecord(t.Context(), "app", "r4"); err != nil {
		t.Error(err)
	}
	store.Must(again.CreateZone(store.Zone("dns", "gone", "gone.test.")))
	if now := lastSerial(t, again, "gone"); !now.Ahead(gone + 100) {
		t.Errorf("the removed zone comes back with serial %d after %d", now, gone)
	}
}

// Two backups, restored in sequence, may give a zone the same or lower serials. A restore of the newer is ahead of a
// restore of the older only if --ahead-of names the older. If the older is too old, there are too few serials left, and
// the restore says so (S6.8).
func TestRestore_aheadOfAnOlderBackup(t *testing.T) {
	s := startStore(t, t.TempDir())
	store.Must(s.CreateZone(store.Zone("dns", "org", "example.org.")))
	older, newer := filepath.Join(t.TempDir(), "older"), filepath.Join(t.TempDir(), "newer")
	m := store.Must(Take(t.Context(), s.where, older))
	age := func(days int) {
		t.Helper()
		m.Time = time.Now().AddDate(0, 0, -days)
		must.Succeed(t, m.writeFile(older))
	}
	store.Must(Take(t.Context(), s.where, newer))
	s.store.Damaged = true // can be checked only while running
	s.member.Stop()
	begins := func(file, aheadOf string, named bool) serial.Serial {
		t.Helper()
		path, message, err := restoreBackup(t, file, func(r *Restore) { r.AheadOf = aheadOf })
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(message, "by less, for lack of serials") != named {
			t.Errorf("of %s it says: %s", file, message)
		}
		again := startStore(t, path)
		again.store.Damaged = true
		defer again.member.Stop()
		return lastSerial(t, again, "org")
	}
	age(10)
	first := begins(older, "", false)
	if alone := begins(newer, "", false); !first.Ahead(alone) {
		t.Errorf("serial %d after %d: it needs no --ahead-of", alone, first)
	}
	if named := begins(newer, older, false); !named.Ahead(first) {
		t.Errorf("serial %d after %d of the one that is named", named, first)
	}
	age(20)
	begins(older, "", true)
	if _, _, err := restoreBackup(t, newer, func(r *Restore) { r.AheadOf = newer + "x" }); err == nil ||
		!strings.Contains(err.Error(), "--ahead-of: ") {
		t.Errorf("ahead of what is not there: %v", err)
	}
}

// B2, B3: an invalid file causes no write.
func TestRestore_refusesWhatIsNoWholeBackup(t *testing.T) {
	old := startStore(t, t.TempDir())
	store.Must(old.CreateZone(store.Zone("dns", "org", "example.org.")))
	file := filepath.Join(t.TempDir(), "backup")
	store.Must(Take(t.Context(), old.where, file))
	whole, manifest := store.Must(os.ReadFile(file)), store.Must(os.ReadFile(ManifestFile(file)))
	edit := func(change func(*Manifest)) []byte {
		var m Manifest
		must.Succeed(t, json.Unmarshal(manifest, &m))
		change(&m)
		m.Sum = m.sum()
		return store.Must(json.Marshal(m))
	}
	flipped := append([]byte{}, whole...)
	flipped[len(flipped)/2] ^= 1
	for what, c := range map[string]struct {
		snapshot, manifest []byte
		want               string
	}{
		"cut":             {whole[:len(whole)/2], manifest, "is cut: it has"},
		"a bit flipped":   {flipped, manifest, "is not the file of its manifest"},
		"no manifest":     {whole, nil, "is no whole backup"},
		"not a manifest":  {whole, []byte("{}"), "is no manifest of a backup"},
		"a newer backup":  {whole, edit(func(m *Manifest) { m.Version++ }), "is of a newer kubizone"},
		"a newer format":  {whole, edit(func(m *Manifest) { m.LeastReader = ledger.Format + 1 }), "is of a newer kubizone"},
		"an older format": {whole, edit(func(m *Manifest) { m.Format = ledger.FirstFormat - 1 }), "the first that this kubizone reads"},
		"of the future":   {whole, edit(func(m *Manifest) { m.Time = time.Now().Add(time.Hour) }), "set the clock and restore it then"},
	} {
		t.Run(what, func(t *testing.T) {
			bad := filepath.Join(t.TempDir(), "bad")
			must.Succeed(t, os.WriteFile(bad, c.snapshot, 0o600))
			if c.manifest != nil {
				must.Succeed(t, os.WriteFile(ManifestFile(bad), c.manifest, 0o600))
			}
			path, _, err := restoreBackup(t, bad)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v does not say %q", err, c.want)
			}
			if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("a directory is left behind: %v", err)
			}
		})
	}

	if _, _, err := restoreBackup(t, file, func(r *Restore) {
		r.DataDir = filepath.Dir(strings.TrimPrefix(filepath.Dir(old.where.ServerList[0]), "unix:"))
	}); err == nil || !strings.Contains(err.Error(), "in use") {
		t.Errorf("over a running server: %v", err)
	}
	old.store.SetFormat(ledger.FirstFormat - 1)
	old.store.Damaged = true
	if _, err := Take(t.Context(), old.where, file+"-old"); !errors.Is(err, ledger.ErrFormat) {
		t.Errorf("a backup of a format that is not read: %v", err)
	}
}

func writeEncryption(t *testing.T, name string, key [32]byte) (file string, records value.Transformer) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "encryption.yaml")
	text := "apiVersion: apiserver.config.k8s.io/v1\nkind: EncryptionConfiguration\nresources:\n- resources: [zones.kubi.zone, records.kubi.zone]\n" +
		"  providers:\n  - secretbox: {keys: [{name: " + name + ", secret: " + base64.StdEncoding.EncodeToString(key[:]) + "}]}\n"
	must.Succeed(t, os.WriteFile(file, []byte(text), 0o600))
	loaded := store.Must(encryptionconfig.LoadEncryptionConfig(t.Context(), file, false, ""))
	return file, loaded.Transformers[v1alpha1.Resource("records")]
}

// B2: an etcd without Kubizone's data is no store.
func TestTake_refusesAnEtcdWithoutKubizone(t *testing.T) {
	dir := store.Must(embed.OpenDir(t.TempDir(), 0))
	defer dir.Close()
	member := store.Must(embed.Start(t.Context(), embed.Config{Dir: dir}))
	defer member.Stop()
	out := filepath.Join(t.TempDir(), "backup")
	_, err := Take(t.Context(), storagebackend.TransportConfig{ServerList: member.Endpoints()}, out)
	if err == nil || !strings.Contains(err.Error(), "no data of kubizone") {
		t.Errorf("taken: %v", err)
	}
	if left := store.Must(os.ReadDir(filepath.Dir(out))); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// Restored with a member name and an initial cluster, the data directory is that of a cluster's first member. So it
// does not start as the only member of a cluster of its own (B3).
func TestRestore_makesTheFirstMemberOfACluster(t *testing.T) {
	old := startStore(t, t.TempDir())
	store.Must(old.CreateZone(store.Zone("dns", "org", "example.org.")))
	file := filepath.Join(t.TempDir(), "backup")
	store.Must(Take(t.Context(), old.where, file))
	path, _, err := restoreBackup(t, file, func(r *Restore) {
		r.MemberName, r.InitialCluster = "a", "a=https://127.0.0.1:2380,b=https://127.0.0.2:2380"
	})
	if err != nil {
		t.Fatal(err)
	}
	dir := store.Must(embed.OpenDir(path, 0))
	defer dir.Close()
	if _, err := embed.Start(t.Context(), embed.Config{Dir: dir}); err == nil || !strings.Contains(err.Error(), "holds member a of a cluster") {
		t.Errorf("it starts as a sole member: %v", err)
	}
}

// A restore raises the serial of every zone beyond any serial that was possibly handed out after the backup. This works
// for each serial before the backup, even nearly half of the 32-bit number space away from today's date (S6.10).
func TestRaiseSerials_fromEveryHalfOfTheCircle(t *testing.T) {
	s := startStore(t, t.TempDir())
	today, _ := law.NextSerial(1, time.Now(), nil, nil)
	want, lasts := map[string]serial.Serial{}, map[string]serial.Serial{}
	for i, first := range []int64{1, 2_000_000_000, 4_294_967_295, 4_173_000_000, 4_180_000_000, int64(today) + 5000} {
		zone := store.Zone("dns", fmt.Sprintf("z%d", i), fmt.Sprintf("z%d.test.", i))
		zone.Spec.MinimumSerial = &first
		created := store.Must(s.CreateZone(zone))
		// A serial possibly handed out after the backup.
		next, _ := law.NextSerial(serial.Serial(created.Status.Serial), time.Now(), nil, nil)
		want[zone.Name], lasts[zone.Name] = next, serial.Serial(created.Status.Serial)
	}
	source := apiserver.Source{Etcd: s.where}
	at := Clock{Now: time.Now()}
	at.Since = at.Now.Add(-time.Hour)
	if n, _, err := raiseSerials(t.Context(), source, at); err != nil || n != len(want) {
		t.Fatalf("%d zones: %v", n, err)
	}
	for zone, next := range want {
		least := next + 3_600_000
		if _, limited := at.serial(lasts[zone]); limited { // today's date is nearly half the circle behind
			least = next
		}
		if now := lastSerial(t, s, zone); !now.Ahead(least-1) || now.Ahead(next+3_600_000+serial.RestoreStep) {
			t.Errorf("%s: serial %d, want it ahead of %d, by an hour where there is room", zone, now, next)
		}
	}
}

// A job that writes a backup under a fixed name, and was killed at its end, writes a whole backup the next time (B5).
// Take overwrites only files that a stopped Take left. A restore of these names the file that is not there, and the
// remedy.
func TestTake_replacesOneThatWasStopped(t *testing.T) {
	old := startStore(t, t.TempDir())
	store.Must(old.CreateZone(store.Zone("dns", "org", "example.org.")))
	file := filepath.Join(t.TempDir(), "backup")
	partial, described := file+".partial", ManifestFile(file)
	store.Must(Take(t.Context(), old.where, file))
	manifest, whole := store.Must(os.ReadFile(ManifestFile(file))), store.Must(os.ReadFile(file))
	must.Succeed(t, os.Rename(file, partial))
	if _, _, err := restoreBackup(t, file); err == nil || !strings.Contains(err.Error(), "backup is not there, only its manifest; ") {
		t.Errorf("restored: %v", err)
	}

	for what, c := range map[string]struct {
		files map[string][]byte
		want  string // "" for a whole backup
	}{
		"stopped while it saved the snapshot":           {map[string][]byte{partial: whole[:100]}, ""},
		"stopped while it wrote the manifest":           {map[string][]byte{partial: whole, described + ".partial": manifest[:10]}, ""},
		"stopped between the manifest and the snapshot": {map[string][]byte{partial: whole, described: manifest}, ""},
		"whole":                           {map[string][]byte{file: whole, described: manifest}, "backup is there"},
		"a file of another program":       {map[string][]byte{file: []byte("tar")}, "backup is there"},
		"a manifest whose backup is away": {map[string][]byte{described: manifest}, "backup.manifest.json is there already"},
		"a manifest of another snapshot":  {map[string][]byte{partial: whole[:100], described: manifest}, "there already"},
		"a manifest of another program":   {map[string][]byte{partial: whole, described: []byte("{}")}, "there already"},
		"a backup beside a stopped one":   {map[string][]byte{file: whole, partial: whole, described: manifest}, "there already"},
	} {
		t.Run(what, func(t *testing.T) {
			entries := must.Get(os.ReadDir(filepath.Dir(file)))(t)
			for _, e := range entries {
				must.Succeed(t, os.Remove(filepath.Join(filepath.Dir(file), e.Name())))
			}
			for path, content := range c.files {
				must.Succeed(t, os.WriteFile(path, content, 0o600))
			}
			_, err := Take(t.Context(), old.where, file)
			if c.want != "" {
				if err == nil || !strings.Contains(err.Error(), c.want) {
					t.Errorf("%v, want %q", err, c.want)
				}
				for path, content := range c.files {
					if now := string(must.Get(os.ReadFile(path))(t)); now != string(content) {
						t.Errorf("%s was changed", path)
					}
				}
				return
			}
			must.Succeed(t, err)
			if m, err := Verify(file); err != nil || m.Zones != 1 {
				t.Errorf("%v: %v", m, err)
			}
			if entries := must.Get(os.ReadDir(filepath.Dir(file)))(t); len(entries) != 2 {
				t.Errorf("left behind: %v", entries)
			}
		})
	}
}
