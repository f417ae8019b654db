// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/warning"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/dns/serial"
	"kubi.zone/kubizone/pkg/zone/law"
	"kubi.zone/kubizone/pkg/zone/law/content"
	"kubi.zone/kubizone/pkg/zone/lawform"
	"kubi.zone/kubizone/pkg/zone/ledger"
	"kubi.zone/kubizone/pkg/zone/ledger/journal"
	"kubi.zone/kubizone/pkg/zone/ledger/layout"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/store"
)

func setGrace(z *v1alpha1.Zone, d time.Duration) *v1alpha1.Zone {
	z.Spec.WithdrawalGracePeriod = &metav1.Duration{Duration: d}
	return z
}

func makeKidsZone(t *testing.T, s *store.Server, period time.Duration) (allow, none []v1alpha1.DelegationRule) {
	t.Helper()
	ctx := withDeadline(t)
	none = []v1alpha1.DelegationRule{store.Allow("", "*"), {Namespace: "infra", Zones: []string{"*"}}}
	allow = append(slices.Clone(none), v1alpha1.DelegationRule{Namespace: "team-a", Zones: []string{"kids"}})
	store.Must(s.CreateZone(setGrace(store.Zone("infra", "shared", "shared.example.", allow...), period)))
	store.Must(s.CreateZone(store.Zone("team-a", "kids", "kids.shared.example.", store.Allow("", "*"), v1alpha1.DelegationRule{Zones: []string{"*"}})))
	r := store.Record("team-a", "www", "www", "A", "203.0.113.66")
	r.Spec.ZoneRef = &v1alpha1.ZoneReference{Name: "kids"}
	store.Must(s.CreateRecord(ctx, r))
	store.Must(s.CreateRecord(ctx, store.Record("team-a", "abs", "abs.kids.shared.example.", "A", "203.0.113.67")))
	low := store.Zone("team-a", "low", "low", store.Allow("", "*"))
	low.Spec.ZoneRef = &v1alpha1.ZoneReference{Name: "kids"}
	store.Must(s.CreateZone(low))
	return allow, none
}

func setRules(s *store.Server, d []v1alpha1.DelegationRule) {
	store.Must(s.UpdateZone("infra", "shared", func(z *v1alpha1.Zone) { z.Spec.Delegations = d }))
}

// announced counts the calls of Config.OnWithdrawal.
type announced struct {
	mu    sync.Mutex
	count map[string]int
}

func (a *announced) note(o metav1.Object, endsAt int64, _ string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.count == nil {
		a.count = map[string]int{}
	}
	kind := fmt.Sprintf("%T %%d", o)
	if endsAt == 0 {
		kind += " back"
	}
	a.count[kind]++
}

func (a *announced) take() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	var all []string
	for kind, n := range a.count {
		all = append(all, fmt.Sprintf(kind, n))
	}
	a.count = nil
	slices.Sort(all)
	return strings.Join(all, ", ")
}

func isExisting(s *store.Server, name string) bool { return s.Zone("team-a", name).Status.FQDN != "" }

// The answer to a write that removes rules lists all Records and zones that lose their rule, even if a fast cascade has
// already released some of them.
func TestWithdrawal_warnsOfAllThatExisted_S2_16(t *testing.T) {
	t.Parallel()
	for _, period := range []time.Duration{0, time.Hour} {
		t.Run(period.String(), func(t *testing.T) {
			t.Parallel()
			st := store.New(t)
			s := st.Server(ledger.TakenWithin(time.Minute)) // all, even on a busy machine
			s.Run()
			z := setGrace(store.Zone("infra", "shared", "shared.example.", store.Allow("", "*")), period)
			z.Spec.Delegations = append(z.Spec.Delegations, v1alpha1.DelegationRule{Namespace: "kids", Zones: []string{"kids"}})
			store.Must(s.CreateZone(z))
			store.Must(s.CreateZone(store.Zone("kids", "kids", "kids.shared.example.")))
			const tenants = 150
			for i := range tenants {
				r := store.Record(fmt.Sprint("t", i), "r", fmt.Sprintf("r%d.shared.example.", i), "A", "192.0.2.1")
				store.Must(s.CreateRecord(t.Context(), r))
			}
			st.Settle()
			warnings := &warned{}
			store.Must(s.WriteZone(warning.WithWarningRecorder(t.Context(), warnings), "infra", "shared", func(z *v1alpha1.Zone) {
				z.Spec.Delegations = nil
				z.Generation++
			}))
			if want := fmt.Sprintf("%d Records and 1 zone ", tenants); !strings.Contains(fmt.Sprint(warnings.texts), want) {
				t.Errorf("the answer lacks %q: %q", want, warnings.texts)
			}
			st.Settle()
		})
	}
}

// The creator of a zone above established zones gets a Warning about those that the new zone's rules do not list. The
// Warning has only the nearest names in the zone's view, without namespaces, and is the same in a dry run (S1.8).
func TestZone_aboveOthersIsWarnedOf_S3_4(t *testing.T) {
	t.Parallel()
	st := store.New(t)
	s := st.Server(ledger.TakenWithin(time.Minute))
	s.Run()
	ctx := s.Ledger.WithEstablish(withDeadline(t), true)
	inView := func(z *v1alpha1.Zone) *v1alpha1.Zone {
		z.Spec.View = "inside"
		return z
	}
	made := func(z *v1alpha1.Zone) string {
		t.Helper()
		dry, wet := &warned{}, &warned{}
		must.Succeed(t, s.Ledger.PreviewZone(warning.WithWarningRecorder(ctx, dry), nil, z.DeepCopy()))
		must.Succeed(t, s.Zones.Create(warning.WithWarningRecorder(ctx, wet), store.Key("zones", z.Namespace, z.Name), z,
			&v1alpha1.Zone{}, 0))
		if !slices.Equal(dry.texts, wet.texts) {
			t.Errorf("a dry run is told %q, and the write %q", dry.texts, wet.texts)
		}
		st.Settle()
		return strings.Join(wet.texts, "; ")
	}
	lists := func(patterns ...string) v1alpha1.DelegationRule { return v1alpha1.DelegationRule{Zones: patterns} }
	for _, step := range []struct {
		zone *v1alpha1.Zone
		want string
	}{
		{store.Zone("deep", "deep", "deep.example.org."), ""},
		{store.Zone("other", "net", "example.net."), ""},
		{inView(store.Zone("secret", "secret", "secret.org.")), ""},
		{store.Zone("team", "example", "example.org.", lists("deep")), ""},
		{store.Zone("infra", "org", "org.", lists("mid")), "S3.4: the rules of the new zone org. do not list 1 " +
			"zone (zone example.org.) below it; they are served as before, and not Ready (NotDelegated) until a rule lists them, as by " +
			`zones: ["example"]`},
		{store.Zone("infra", "root", ".", lists("org")), "S3.4: the rules of the new zone . do not list 1 zone " +
			"(zone example.net.) below it; they are served as before, and not Ready (NotDelegated) until a rule lists them, as by zones: " +
			`["example.net"]`},
	} {
		if reported := made(step.zone); reported != step.want {
			t.Errorf("who makes %s is told %q, want %q", step.zone.Spec.DomainName, reported, step.want)
		}
	}
}

// A rule that reaches only names of a child zone causes a Warning, in a Zone or a Delegation, and in a dry run too. A
// write that keeps the rule causes none (S2.1).
func TestElsewhere_isWarnedOf_S4_18(t *testing.T) {
	t.Parallel()
	st := store.New(t)
	s := st.Server(stopClock)
	s.Run()
	ctx := withDeadline(t)
	kids := v1alpha1.DelegationRule{Namespace: "kids", Zones: []string{"kids"}}
	store.Must(s.CreateZone(store.Zone("infra", "shared", "shared.example.", kids, store.Allow("infra", "*"))))
	store.Must(s.CreateZone(store.Zone("kids", "kids", "kids.shared.example.")))
	st.Settle()
	expect := func(step, want string, write func(ctx context.Context)) {
		t.Helper()
		warnings := &warned{}
		write(warning.WithWarningRecorder(ctx, warnings))
		got := strings.Join(slices.DeleteFunc(warnings.texts, func(text string) bool { return !strings.HasPrefix(text, "S2.1: ") }), "; ")
		if want == "" && got != "" || !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", step, got, want)
		}
	}
	const dead = `give no name by the patterns ["*.kids"]: all these names lie in zones below`
	set := func(patterns ...string) func(ctx context.Context) {
		return func(ctx context.Context) {
			store.Must(s.WriteZone(ctx, "infra", "shared", func(z *v1alpha1.Zone) {
				z.Spec.Delegations = []v1alpha1.DelegationRule{kids, store.Allow("infra", patterns...)}
				z.Generation++
			}))
		}
	}
	expect("a dry run", dead, func(ctx context.Context) {
		shared := s.Zone("infra", "shared")
		after := shared.DeepCopy()
		after.Generation++
		after.Spec.Delegations = append(after.Spec.Delegations, store.Allow("team", "*.kids"))
		must.Succeed(t, s.Ledger.PreviewZone(ctx, shared, after))
	})
	expect("a Zone", dead, set("*", "*.kids", "kids")) // DS there belong to the own namespace
	expect("what stood", "", set("*", "*.kids", "kids", "x"))
	made := store.Delegation("infra", "team", "shared", []string{"team"}, "*.kids", "x")
	expect("a dry run of a Delegation", dead, func(ctx context.Context) {
		must.Succeed(t, s.Ledger.PreviewDelegation(ctx, nil, made.DeepCopy()))
	})
	expect("a Delegation", dead, func(ctx context.Context) {
		must.Succeed(t, s.Delegations.Create(ctx, store.Key("delegations", "infra", "team"), made, &v1alpha1.Delegation{}, 0))
	})
	expect("a Delegation that changes", `["www.kids"]`, func(ctx context.Context) {
		made := s.Delegation("infra", "team")
		after := made.DeepCopy()
		after.Generation++
		after.Spec.Records = store.Allow("", "*.kids", "www.kids").Records
		must.Succeed(t, s.Ledger.PreviewDelegation(ctx, made, after))
	})
	st.Settle()
	st.MustBeClean()
}

// During a grace period, the status has its end, deletions pass, a restored rule keeps everything, and a second
// withdrawal has a period of its own. The annotation kubi.zone/release-now ends the period for the listed namespaces
// (S3.6).
func TestWithdrawal_keepsRecordsAndZonesForThePeriod_S2_5(t *testing.T) {
	t.Parallel()
	st := store.New(t)
	reported := &announced{}
	s := st.Server(func(c *ledger.Config) { c.OnWithdrawal = reported.note })
	s.Run()
	ctx := withDeadline(t)
	_, none := makeKidsZone(t, s, time.Hour)
	none = none[:1]
	none[0].Namespace = "infra"
	allow := append(slices.Clone(none), v1alpha1.DelegationRule{Namespace: "team-a", Zones: []string{"kids"}, Records: store.Allow("", "a*").Records})
	setRules(s, allow)
	for i := range 3 {
		store.Must(s.CreateRecord(ctx, store.Record("team-a", fmt.Sprint("r", i), fmt.Sprintf("a%d.shared.example.", i), "A", "192.0.2.1")))
	}
	st.Settle()
	serial := s.Zone("infra", "shared").Status.Serial
	stays := func(yes bool) (endsAt time.Time) {
		t.Helper()
		st.Settle()
		r, z := s.Record("team-a", "r0"), s.Zone("team-a", "kids")
		c := meta.FindStatusCondition(r.Status.Conditions, v1alpha1.ConditionAdopted)
		d := meta.FindStatusCondition(z.Status.Conditions, v1alpha1.ConditionDelegated)
		if yes != (r.Status.EndsAt != nil) || yes != (c.Reason == law.ReasonDelegationWithdrawn) || c.Status != metav1.ConditionTrue ||
			yes != (z.Status.EndsAt != nil) || yes != (d.Reason == law.ReasonDelegationWithdrawn) || d.Status != metav1.ConditionTrue {
			t.Fatalf("withdrawn %t: %+v, %+v, ends at %v and %v", yes, c, d, r.Status.EndsAt, z.Status.EndsAt)
		}
		if now := s.Zone("infra", "shared").Status.Serial; now != serial {
			t.Errorf("serial %d, which was %d: all of it stays", now, serial)
		}
		st.MustBeClean()
		if yes {
			endsAt = r.Status.EndsAt.Time
		}
		return endsAt
	}
	setRules(s, none)
	if left := time.Until(stays(true)); left < 50*time.Minute || left > time.Hour {
		t.Errorf("it says that it goes in %s", left)
	}
	if got := reported.take(); got != "*v1alpha1.Record 3, *v1alpha1.Zone 1" {
		t.Errorf("announced is the end of %s", got)
	}
	setRules(s, allow)
	stays(false)
	if got := reported.take(); got != "*v1alpha1.Record 3 back, *v1alpha1.Zone 1 back" {
		t.Errorf("announced is %s", got)
	}
	setRules(s, none)
	stays(true)
	must.Succeed(t, s.DeleteRecord(ctx, "team-a", "r1"))
	serial = s.Zone("infra", "shared").Status.Serial
	store.Must(s.UpdateZone("infra", "shared", func(z *v1alpha1.Zone) {
		z.Annotations = map[string]string{v1alpha1.AnnotationReleaseNow: "team-b, team-a"}
	}))
	store.Eventually(t, "all is released", func() bool {
		return s.Record("team-a", "r0").Status.ZoneRef == nil && !isExisting(s, "kids") && !isExisting(s, "low")
	})
	st.Settle()
	st.MustBeClean()
}

// A grace period counts the time in which servers ran. A clock that is a year ahead therefore does not end the period,
// and a tenant that writes constantly does not prolong it (attack 63).
func TestWithdrawal_countsTimeThatServersRan_S3_6(t *testing.T) {
	t.Parallel()
	st := store.New(t)
	ahead := func(c *ledger.Config) { c.Now = func() time.Time { return time.Now().AddDate(1, 0, 0) } }
	s, other := st.Server(ahead), st.Server()
	s.Run()
	other.Run()
	const period = 3 * time.Second
	_, none := makeKidsZone(t, s, period)
	st.Settle()
	began := time.Now()
	setRules(s, none)
	for n := 0; isExisting(s, "kids"); n++ {
		if time.Since(began) > time.Minute {
			t.Fatal("it does not end while its tenant writes to it")
		}
		_, err := s.UpdateZone("team-a", "kids", func(z *v1alpha1.Zone) {
			z.Spec.NameServers = []v1alpha1.NameServer{{Name: fmt.Sprintf("ns%d.example.net.", n)}}
		})
		if err != nil && !apierrors.IsForbidden(err) { // ended meanwhile
			t.Fatal(err)
		}
		time.Sleep(10 * time.Millisecond) // often enough to matter, and leaves the processor to others
	}
	if ran := time.Since(began); ran < period {
		t.Errorf("it ended after %s", ran)
	}
	store.Eventually(t, "the one below ended", func() bool { return !isExisting(s, "low") })
	st.Settle()
}

// The time of a grace period is counted while cascades run (S7.2).
func TestWithdrawal_isCountedBesideCascades_S2_5(t *testing.T) {
	t.Parallel()
	st := store.New(t)
	counts, goOn := make(chan struct{}), make(chan struct{})
	var once sync.Once
	s := st.Server(func(c *ledger.Config) {
		c.OnFault = func(point string) {
			if point == "zone-ends" {
				once.Do(func() { close(counts) })
				<-goOn
			}
		}
	})
	s.Run()
	_, none := makeKidsZone(t, s, time.Second)
	store.Must(s.CreateZone(store.Zone("infra", "other", "other.example.", store.Allow("", "*"))))
	store.Must(s.CreateRecord(withDeadline(t), store.Record("team-b", "b", "b.other.example.", "A", "192.0.2.1")))
	st.Settle()
	setRules(s, none)
	<-counts
	defer close(goOn)
	store.Must(s.UpdateZone("infra", "other", func(z *v1alpha1.Zone) { z.Spec.Delegations = z.Spec.Delegations[:0] }))
	store.Eventually(t, "another withdrawal is carried out", func() bool { return s.Record("team-b", "b").Status.ZoneRef == nil })
}

// A sweep ends a bounded number of grace periods. Those of a zone that is being removed do not count towards the bound,
// so that the period in another zone ends in time.
func TestWithdrawal_endsBesideThoseOfAZoneThatIsGone_S2_5(t *testing.T) {
	t.Parallel()
	st := store.New(t)
	s := st.Server()
	keys := layout.Keys{Prefix: st.Prefix}
	for i := range 150 {
		key := keys.Key(law.WithdrawalKey("00000000-0000-0000-0000-000000000000", fmt.Sprintf("team-%d", i)))
		store.Must(st.Client.Client.Put(t.Context(), key, string(layout.Encode(&law.Withdrawal{Grace: 1}))))
	}
	s.Run()
	_, none := makeKidsZone(t, s, time.Second)
	setRules(s, none)
	store.Eventually(t, "the zone ends", func() bool { return !isExisting(s, "kids") })
	prefix := keys.Key(law.WithdrawalKey("00000000-0000-0000-0000-000000000000", ""))
	store.Must(st.Client.Client.Delete(t.Context(), prefix, clientv3.WithPrefix()))
	st.Settle()
}

// Servers may stop anywhere while a grace period ends; the next server continues.
func TestWithdrawal_interruptedAnywhereItGoesOn_S3_5(t *testing.T) {
	notUnderRace(t)
	t.Parallel()
	st := store.New(t)
	s := st.Server()
	allow, none := makeKidsZone(t, s, 0)
	setRules(s, none)
	for isExisting(s, "kids") || isExisting(s, "low") {
		runInterrupted(t, st, nil)
	}
	setRules(s, allow)
	runInterrupted(t, st, nil)
	if r := s.Record("team-a", "www"); r.Status.ZoneRef == nil || !isExisting(s, "low") {
		t.Errorf("made anew without its record or the zone below: %+v", r.Status)
	}
}

// While Delivery keeps an ended zone, its former RRsets remain known, whatever the tenant writes. After Delivery's
// release, the zone is created again. Servers may stop anywhere in between (S3.5, S8.4).
func TestWithdrawal_keepsWhatAnEndedZoneHadUntilItIsWithdrawn_S3_7(t *testing.T) {
	notUnderRace(t)
	t.Parallel()
	st := store.New(t)
	s := st.Server()
	stop := s.Run()
	allow, none := makeKidsZone(t, s, 0)
	store.Must(s.UpdateZone("team-a", "kids", func(z *v1alpha1.Zone) { z.Finalizers = []string{v1alpha1.FinalizerDelivery} }))
	st.Settle()
	confirmed := serial.Serial(s.Zone("team-a", "kids").Status.Serial)
	must.Succeed(t, s.DeleteRecord(t.Context(), "team-a", "abs"))
	st.Settle()
	stop()
	zone := s.Zone("team-a", "kids")
	setRules(s, none)
	keys := func() (rooms map[string]int) {
		rooms = map[string]int{}
		client := must.Get(ledger.ReadStore(t.Context(), st.Client.Client, st.Prefix, st.Encryption))(t)
		keys := layout.Keys{Prefix: st.Prefix}
		for _, room := range []string{"members", "counts", "cuts", "debts", "owners", "journal", "outbox"} {
			prefix := keys.Room(room) + string(zone.UID) + "/"
			if room == "outbox" {
				prefix = keys.Room(room)
			}
			r := must.Get(client.Get(t.Context(), prefix, clientv3.WithPrefix(), clientv3.WithKeysOnly()))(t)
			if len(r.Kvs) > 0 {
				rooms[room] = len(r.Kvs)
			}
		}
		return rooms
	}
	parked := func() bool {
		k := keys()
		return !isExisting(s, "kids") && k["members"]+k["counts"]+k["cuts"]+k["debts"] == 0 && k["outbox"] == 1
	}
	for i := int64(1); !parked(); i++ {
		if i > 500 {
			t.Fatal("500 interruptions and still not through")
		}
		ctx, cancel := context.WithCancel(t.Context())
		var left atomic.Int64
		left.Store(i)
		other := st.Server(func(c *ledger.Config) {
			c.OnFault = func(string) {
				if left.Add(-1) == 0 {
					cancel()
					if i%2 == 0 {
						runtime.Goexit()
					}
				}
			}
		})
		done := make(chan struct{})
		go func() {
			defer close(done)
			_ = other.Ledger.Run(ctx)
		}()
		for over := false; !over; {
			select {
			case <-done:
				over = true
			case <-time.After(10 * time.Millisecond):
				over = parked()
			}
		}
		cancel()
		<-done
		st.MustBeClean()
	}
	names := func() (names []string) {
		t.Helper()
		left := must.Get(s.Ledger.EndedContent(t.Context(), zone, confirmed))(t)
		if left.Header.FQDN.String() != "kids.shared.example." || left.Serial != serial.Serial(zone.Status.Serial) || fmt.Sprint(left.Header.NameServers) != fmt.Sprint(zoneHeader(t, zone).NameServers) {
			t.Errorf("%s, serial %d, name servers %v", left.Header.FQDN, left.Serial, left.Header.NameServers)
		}
		for _, row := range left.Rows {
			names = append(names, row.Owner.String()+" "+row.Type.String())
		}
		slices.Sort(names)
		return slices.Compact(names)
	}
	had := names()
	for _, one := range []string{"www A", "abs A", "low NS"} {
		if !slices.Contains(had, one) {
			t.Errorf("%s is not among what the zone had: %v", one, had)
		}
	}
	if _, err := s.Ledger.EndedContent(t.Context(), zone, confirmed-1000); !errors.Is(err, journal.ErrTrimmed) {
		t.Errorf("since a serial that it never had: %v", err)
	}
	// Writes of the tenant do not change this, and the rule alone creates nothing again.
	must.Succeed(t, s.DeleteRecord(t.Context(), "team-a", "www"))
	store.Must(s.UpdateZone("team-a", "kids", func(z *v1alpha1.Zone) {
		z.Spec.NameServers = []v1alpha1.NameServer{{Name: "theirs", Addresses: []string{"192.0.2.7"}}}
	}))
	setRules(s, allow)
	s.Ledger.ProcessOutbox(t.Context())
	if now := names(); !slices.Equal(now, had) || isExisting(s, "kids") {
		t.Errorf("it stands: %t, and had %v, now %v", isExisting(s, "kids"), had, now)
	}
	st.MustBeClean()
	store.Must(s.WriteZone(s.Ctx, "team-a", "kids", func(z *v1alpha1.Zone) { z.Finalizers = nil }))
	s.Run()
	store.Eventually(t, "it is made anew", func() bool { return isExisting(s, "kids") })
	st.Settle()
	if _, err := s.Ledger.EndedContent(t.Context(), zone, confirmed); !errors.Is(err, journal.ErrTrimmed) {
		t.Errorf("what it had when it was withdrawn: %v", err)
	}
	store.Must(s.WriteZone(s.Ctx, "team-a", "kids", func(z *v1alpha1.Zone) { z.Finalizers = []string{v1alpha1.FinalizerDelivery} }))
	setRules(s, none)
	store.Eventually(t, "it ended again", parked)
	store.Must(s.WriteZone(s.Ctx, "team-a", "kids", func(z *v1alpha1.Zone) { z.Finalizers = nil }))
	must.Succeed(t, s.DeleteZone("team-a", "kids"))
	st.Settle()
	if k := keys(); len(k) > 0 {
		t.Errorf("keys are left: %v", k)
	}
}

func zoneHeader(t *testing.T, o *v1alpha1.Zone) content.Header {
	t.Helper()
	z := must.Get(lawform.Zone(o))(t)
	return z.Header
}
