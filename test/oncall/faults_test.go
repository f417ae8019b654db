// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package oncall

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/kube-aggregator/pkg/client/clientset_generated/clientset"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/kit/pki"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/rig"
	"kubi.zone/kubizone/test/rig/kuberig"
)

const (
	// nameTimeout ends the wait for causes and alerts. They take a minute at most, longer on a busy machine.
	nameTimeout = 3 * time.Minute
	// readInterval is between two readings of a place.
	readInterval = 500 * time.Millisecond
)

// unready are the conditions of a Zone or Record that a fault concerns.
var unready = regexp.MustCompile("Ready=(False|Unknown)")

type fault struct {
	name string
	// zone waits for the end of the fault; "" if no zone waits.
	zone       string
	begin, end func()
	// change is done once primary and controller have read the Secrets of classes again; nil if begin does all.
	change func()
	// words by place name the cause, as a regular expression. A place without words is not concerned.
	words map[string]string
	// alerts fire while the metrics stay so; any of them may name the cause.
	alerts []string
}

// TestFaults_areNamedInFivePlaces: 17 faults are caused, and each of five places where an operator looks must name
// the cause. No place names a fault before or after. The log has the seconds until then; without the long form, faults
// of single zones are caused together.
func TestFaults_areNamedInFivePlaces(t *testing.T) {
	w := startWorld(t)
	for _, zone := range zones {
		w.waitReady(zone)
	}
	old := w.keepOldZone()
	w.expectCalm("before", zones)
	together := len(zones)
	if rig.Long() {
		together = 1 // doctor then names each as the only CAUSE
	}
	groups := slices.Collect(slices.Chunk(w.faultsOfZones(old), together))
	for _, one := range []fault{w.deadPrimary(), w.deadController(), w.stoppedEtcd(), w.fullEtcd(), w.wrongCA(), w.futureCertificate()} {
		groups = append(groups, []fault{one})
	}
	var rows []string
	for _, group := range groups {
		rows = append(rows, w.runFaults(group)...)
		var of []string
		for _, one := range group {
			if one.zone != "" {
				of = append(of, one.zone)
			}
		}
		w.expectCalm("after "+group[len(group)-1].name, of)
	}
	t.Logf("seconds until each place named the cause:\nfault\t%s\n%s", strings.Join(places, "\t"), strings.Join(rows, "\n"))
}

// findings are the times at which places named faults.
type findings struct {
	sync.Mutex
	begin time.Time
	group []fault
	named map[[2]string]time.Duration // by fault and place
	last  map[[2]string]string        // words of the place
}

func (f *findings) noteWords(one *fault, place, text string) {
	f.Lock()
	defer f.Unlock()
	at := [2]string{one.name, place}
	f.last[at] = text
	if f.named[at] == 0 && regexp.MustCompile(one.words[place]).MatchString(text) {
		f.named[at] = time.Since(f.begin)
	}
}

// listUnnamed returns the faults for which a place has words, and has not said them.
func (f *findings) listUnnamed(place string) (left []*fault) {
	f.Lock()
	defer f.Unlock()
	for i := range f.group {
		if one := &f.group[i]; one.words[place] != "" && f.named[[2]string{one.name, place}] == 0 {
			left = append(left, one)
		}
	}
	return left
}

// readPlace reads a place again and again until it has named all faults or the time is over.
func (f *findings) readPlace(place string, read func(left []*fault)) {
	for left := f.listUnnamed(place); len(left) > 0 && time.Since(f.begin) < nameTimeout; left = f.listUnnamed(place) {
		read(left)
		time.Sleep(readInterval)
	}
}

// readPlaces reads the cheapest place first, a judgement of the alerts last, and returns the alerts that fire then.
func (w *world) readPlaces(f *findings, wanted []string) (fired []string) {
	noteAll := func(left []*fault, place, text string) {
		for _, one := range left {
			f.noteWords(one, place, text)
		}
	}
	readers := map[string]func(left []*fault){
		inConditions: func(left []*fault) {
			for _, one := range left {
				f.noteWords(one, inConditions, w.readConditions(one.zone))
			}
		},
		inWhy: func(left []*fault) {
			for _, one := range left {
				why, _ := w.runClient("why", "-n", team, "www-"+one.zone)
				f.noteWords(one, inWhy, why)
			}
		},
		inStatus: func(left []*fault) {
			status, _ := w.runClient("status", "-o", "wide")
			noteAll(left, inStatus, status)
		},
		inDoctor: func(left []*fault) {
			doctor, _ := w.runClient("doctor")
			if _, cause, ok := strings.Cut(doctor, "CAUSE: "); ok && len(f.group) == 1 {
				doctor = cause
			}
			noteAll(left, inDoctor, doctor)
		},
	}
	f.readPlace(inConditions, readers[inConditions])
	var reading sync.WaitGroup
	for _, place := range []string{inStatus, inWhy, inDoctor} {
		reading.Go(func() { f.readPlace(place, readers[place]) })
	}
	reading.Wait()
	for time.Since(f.begin) < nameTimeout {
		fired = w.judgeAlerts()
		noteAll(f.listUnnamed(inAlerts), inAlerts, strings.Join(fired, "\n"))
		if len(f.listUnnamed(inAlerts)) == 0 && slices.Equal(fired, wanted) {
			break
		}
		time.Sleep(readInterval)
	}
	return fired
}

// runFaults returns a row of seconds for each fault.
func (w *world) runFaults(group []fault) (rows []string) {
	w.t.Helper()
	f := &findings{group: group, named: map[[2]string]time.Duration{}, last: map[[2]string]string{}}
	var wanted []string
	for _, one := range group {
		one.begin()
		wanted = append(wanted, one.alerts...)
	}
	slices.Sort(wanted)
	w.changeWithNewSecrets(group)
	f.begin = time.Now()
	fired := w.readPlaces(f, wanted)
	for _, one := range group {
		one.end()
	}
	if !slices.Equal(fired, wanted) {
		w.t.Errorf("with %s these alerts fire: %q, want %q", group[0].name, fired, wanted)
	}
	for i := range group {
		one := &group[i]
		row := one.name
		for _, place := range places {
			at := [2]string{one.name, place}
			switch took, is := f.named[at]; {
			case one.words[place] == "":
				row += "\t-"
			case is:
				row += fmt.Sprintf("\t%.0f", took.Seconds())
			default:
				row += "\tno"
				w.t.Errorf("%s: %s do not name it by %q within %s:\n%s", one.name, place, one.words[place], nameTimeout, f.last[at])
			}
		}
		rows = append(rows, row)
	}
	return rows
}

// rereadSecrets is the time after which primary and controller have read the Secrets of classes again. A change before
// would still be delivered with the former key.
const rereadSecrets = 12 * time.Second

func (w *world) changeWithNewSecrets(group []fault) {
	waited := false
	for _, one := range group {
		if one.change == nil {
			continue
		}
		if !waited {
			time.Sleep(rereadSecrets)
		}
		waited = true
		one.change()
	}
}

// expectCalm waits until no place names a fault. The cheapest place comes first; why is read for the zones of the ended
// faults.
func (w *world) expectCalm(when string, of []string) {
	w.t.Helper()
	w.waitUntil(when+" no place names a fault", func() (err error) {
		defer func() {
			if err != nil {
				time.Sleep(readInterval)
			}
		}()
		for _, zone := range zones {
			if conditions := w.readConditions(zone); !strings.Contains(conditions, "Ready=") || unready.MatchString(conditions) {
				return fmt.Errorf("zone %s: %s", zone, conditions)
			}
		}
		status, err := w.runClient("status")
		if err != nil {
			return fmt.Errorf("status:\n%s", status)
		}
		for _, list := range []string{"HELD", "PAUSED", "WITHDRAWN", "RECORDS", "FAILS", "error:"} {
			if strings.Contains(status, list) {
				return fmt.Errorf("status:\n%s", status)
			}
		}
		if doctor, err := w.runClient("doctor"); err != nil || strings.Contains(doctor, "FAIL") {
			return fmt.Errorf("doctor:\n%s", doctor)
		}
		for _, zone := range of {
			if why, err := w.runClient("why", "-n", team, "www-"+zone); err != nil {
				return fmt.Errorf("why:\n%s", why)
			}
		}
		if fired := w.judgeAlerts(); len(fired) > 0 {
			return fmt.Errorf("the alerts %q fire", fired)
		}
		return nil
	})
}

// makeWords returns the words of a zone's reason in all places but the alerts.
func makeWords(zone, reason, alert string, inRow ...string) map[string]string {
	return map[string]string{
		inConditions: "Ready=(False|Unknown) " + reason, inStatus: "(?m)^Zone +" + namespaceOf(zone) + "/" + zone + " .*" + reason,
		inWhy: strings.Join(append(inRow, reason), "|"), inDoctor: "not current, " + reason + ": ", inAlerts: "(?m)^" + alert,
	}
}

// with replaces the words of places, given as pairs.
func with(words map[string]string, places ...string) map[string]string {
	for i := 0; i < len(places); i += 2 {
		words[places[i]] = places[i+1]
	}
	return words
}

// alertsOfLate are of a class that does not confirm a change, alertsOfBehind of a class with a server behind.
func alertsOfLate(class string) []string { return []string{"KubizoneDeliveryLate " + class} }

func alertsOfBehind(class string, further ...string) []string {
	return append(append(alertsOfLate(class), "KubizoneSecondaryBehind "+class), further...)
}

// alertOfNotify names the server of a zone.
func (w *world) alertOfNotify(zone string) string {
	return "KubizoneNotifyFailing " + w.named[zone].Addr.String()
}

func (w *world) faultsOfZones(old []byte) []fault {
	stop := func(zone string) func() { return func() { w.named[zone].Stop(); w.changeRecord(zone) } }
	start := func(zone string) func() { return func() { must.Succeed(w.t, w.named[zone].Start(w.ctx)) } }
	return []fault{
		{name: "zone paused", zone: "paused", begin: func() {
			w.patchZone("paused", `{"metadata":{"annotations":{"kubi.zone/paused":"true"}}}`)
			w.changeRecord("paused")
		}, end: func() { w.patchZone("paused", `{"metadata":{"annotations":{"kubi.zone/paused":null}}}`) },
			words: makeWords("paused", "Paused", "KubizoneDeliveryLate paused"), alerts: alertsOfLate("paused")},
		{name: "class paused", zone: "classpaused", begin: func() {
			w.patchClass("classpaused", `{"spec":{"paused":true}}`)
			w.changeRecord("classpaused")
		}, end: func() { w.patchClass("classpaused", `{"spec":{"paused":false}}`) },
			words: makeWords("classpaused", "ClassPaused", "KubizoneDeliveryLate classpaused"), alerts: alertsOfLate("classpaused")},
		{name: "acme not served", begin: w.registerACME, end: func() {
			must.Succeed(w.t, w.aggregator().ApiregistrationV1().APIServices().Delete(w.ctx, acmeAPI, metav1.DeleteOptions{}))
		}, words: map[string]string{inDoctor: acmeAPI, inAlerts: "KubizoneAPIServiceUnavailable " + acmeAPI},
			alerts: []string{"KubizoneAPIServiceUnavailable " + acmeAPI}},
		{name: "secondary down", zone: "down", begin: stop("down"), end: start("down"),
			words:  makeWords("down", "ServerUnreachable", "KubizoneSecondaryBehind down"),
			alerts: alertsOfBehind("down", w.alertOfNotify("down"))},
		{name: "NOTIFY refused", zone: "notify", begin: func() {
			w.editNamed("notify", allowNotify, "")
			must.Get(w.named["notify"].Rndc(w.ctx, "reconfig"))(w.t)
			w.changeRecord("notify")
		}, end: func() {
			w.editNamed("notify", "options {", "options {\n"+allowNotify)
			must.Get(w.named["notify"].Rndc(w.ctx, "reconfig"))(w.t)
		}, words: with(makeWords("notify", v1alpha1.ReasonNotifyFailing, "KubizoneNotifyFailing "+host),
			inStatus, "server of zone notify.example.: "+host+":.* answers REFUSED to NOTIFY .*allow-notify",
			inDoctor, "(?s)not current, NotifyFailing: .*answers\\s+REFUSED\\s+to\\s+NOTIFY"),
			alerts: alertsOfBehind("notify", w.alertOfNotify("notify"))},
		{name: "class Secret wrong", zone: "secret", begin: func() {
			w.setKey(keyOfSecret, "d3Jvbmcgc2VjcmV0IG9mIHRoZSB0ZXN0")
		}, change: func() { w.changeRecord("secret") }, end: func() { w.setKey(keyOfSecret, keyOfSecret.Secret) },
			words: with(makeWords("secret", "AuthenticationFailed", "KubizoneSecondaryBehind secret"),
				inWhy, host+":.*BADSIG: the server's key of this name has another secret"),
			alerts: alertsOfBehind("secret", w.alertOfNotify(""))},
		{name: "class Secret missing", zone: "missing", begin: func() {
			must.Succeed(w.t, w.core.CoreV1().Secrets(platform).Delete(w.ctx, "tsig-missing", metav1.DeleteOptions{}))
		}, change: func() { w.changeRecord("missing") }, end: func() { w.setKey(keyOfMissing, keyOfMissing.Secret) },
			words:  makeWords("missing", "SecretNotFound", "KubizoneDeliveryFailing missing"),
			alerts: append(alertsOfLate("missing"), "KubizoneDeliveryFailing missing")},
		{name: "zone held", zone: "held", begin: func() { w.patchZone("held", `{"spec":{"nameServers":null}}`) },
			end: func() { w.patchZone("held", `{"spec":{"nameServers":[{"name":"ns","addresses":["192.0.2.53"]}]}}`) },
			words: with(makeWords("held", "MassDeletion", "KubizoneZonesHeld"),
				inConditions, "Ready=False MassDeletion: .* removed the last NS record at the apex, .* puts back an NS record .*, or publishes",
				inDoctor, "MassDeletion: Zone team/held .* has removed the last NS record at the apex"),
			alerts: []string{"KubizoneZonesHeld"}},
		{name: "rule withdrawn", zone: "withdrawn", begin: func() { w.patchZone("withdrawn", `{"spec":{"delegations":null}}`) },
			end: func() {
				w.patchZone("withdrawn", `{"spec":{"delegations":[{"namespace":"team","records":[{"pattern":"www"}]}]}}`)
			}, words: map[string]string{inConditions: "DelegationWithdrawn", inStatus: "WITHDRAWN(?s:.*)team/www-withdrawn",
				inWhy: "DelegationWithdrawn", inAlerts: "KubizoneRecordsWithdrawn"},
			alerts: []string{"KubizoneRecordsWithdrawn"}},
		{name: "signer dead", zone: "signer", begin: stop("signer"), end: start("signer"),
			words:  makeWords("signer", "ServerUnreachable", "KubizoneSecondaryBehind signer"),
			alerts: alertsOfBehind("signer", w.alertOfNotify("signer"))},
		{name: "secondary from an old disk", zone: "old", begin: func() { w.restoreOldZone(old) }, end: func() { w.connectOldZone() },
			words: with(makeWords("old", v1alpha1.ReasonServerWentBack, "KubizoneSecondaryBehind old"),
				inWhy, "(?s)FAILS +class old +ServerWentBack: "+host+":[0-9]+ went back to serial.*the platform: open the way"),
			alerts: []string{"KubizoneSecondaryBehind old"}},
	}
}

const acmeAPI = "v1alpha1.acme.kubi.zone"

func (w *world) aggregator() *clientset.Clientset {
	return must.Get(clientset.NewForConfig(w.kube.Admin()))(w.t)
}

func (w *world) registerACME() {
	w.applyObjects(`{apiVersion: apiregistration.k8s.io/v1, kind: APIService, metadata: {name: ` + acmeAPI + `,
labels: {app.kubernetes.io/part-of: kubizone}}, spec: {group: acme.kubi.zone, version: v1alpha1, groupPriorityMinimum: 1000,
versionPriority: 15, service: {namespace: ` + kuberig.InstallNamespace + `, name: ` + kuberig.ServerName + `, port: 443}}}`)
}

// keepOldZone returns the file of the zone old before its last change.
func (w *world) keepOldZone() []byte {
	named := w.named["old"]
	must.Get(named.Rndc(w.ctx, "sync", "-clean"))(w.t)
	text := must.Get(os.ReadFile(named.ZoneFile("old.example.")))(w.t)
	w.changeRecord("old")
	w.waitReady("old")
	return text
}

const fromPrimary = " port 53 key"

// restoreOldZone starts the name server on the old file, without its primary.
func (w *world) restoreOldZone(text []byte) {
	named := w.named["old"]
	named.Stop()
	for _, journal := range must.Get(filepath.Glob(filepath.Join(named.Dir(), "*.jnl")))(w.t) {
		must.Succeed(w.t, os.Remove(journal))
	}
	must.Succeed(w.t, os.WriteFile(named.ZoneFile("old.example."), text, 0o600))
	w.editNamed("old", fromPrimary, " port 1 key")
	must.Succeed(w.t, named.Start(w.ctx))
}

func (w *world) connectOldZone() {
	w.named["old"].Stop()
	w.editNamed("old", " port 1 key", fromPrimary)
	must.Succeed(w.t, w.named["old"].Start(w.ctx))
}

func (w *world) editNamed(zone, former, text string) {
	file := filepath.Join(w.named[zone].Dir(), "named.conf")
	conf := must.Get(os.ReadFile(file))(w.t)
	must.Succeed(w.t, os.WriteFile(file, bytes.ReplaceAll(conf, []byte(former), []byte(text)), 0o600))
}

func (w *world) deadPrimary() fault {
	words := makeWords("primary", "NoPrimary", "KubizoneProcessEnded primary")
	words[inDoctor] = "(?s)processes: no replica works: primary"
	return fault{name: "primary dead", zone: "primary", begin: func() { w.endProcess("primary"); w.changeRecord("primary") },
		end: func() { w.scaleTo("primary", 1) }, words: words, alerts: alertsOfBehind("primary", "KubizoneProcessEnded primary")}
}

func (w *world) deadController() fault {
	words := makeWords("controller", "NoController", "KubizoneProcessEnded controller")
	words[inConditions] = "(?s)Ready=Unknown NoController.*Delivery=Unknown NoController: no controller has worked since"
	words[inDoctor] = "(?s)processes: no replica works: controller.*NEXT: kubectl get deployments,.*: scale the controller up from 0"
	return fault{name: "controller dead", zone: "controller", begin: func() { w.endProcess("controller"); w.changeRecord("controller") },
		end: func() { w.scaleTo("controller", 1) }, words: words,
		alerts: append(alertsOfLate("controller"), "KubizoneProcessEnded controller")}
}

// makeUnreachable returns the words while kube-apiserver does not reach the API.
func makeUnreachable(doctor, conditions string) map[string]string {
	const next = "kubectl kubizone doctor"
	return map[string]string{inConditions: conditions, inStatus: next, inWhy: next, inDoctor: doctor,
		inAlerts: "KubizoneAPIServiceUnavailable"}
}

var unavailable = []string{"KubizoneAPIServiceUnavailable v1alpha1.bind9.kubi.zone", "KubizoneAPIServiceUnavailable v1alpha1.kubi.zone"}

func (w *world) stoppedEtcd() fault {
	return fault{name: "etcd stopped", zone: "paused", begin: w.etcd.Lock, end: w.etcd.Unlock,
		words: makeUnreachable("^etcd: etcd does not answer", "etcd did not answer|unable to (handle|return)"), alerts: unavailable}
}

// fullEtcd writes keys beside those of Kubizone until the fault ends, since the server frees space again and again.
func (w *world) fullEtcd() fault {
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(w.etcdCA.PEM)
	pair := must.Get(w.key.TLS())(w.t)
	endpoint := "https://" + w.etcd.listener.Addr().String()
	etcd := must.Get(clientv3.New(clientv3.Config{Endpoints: []string{endpoint}, Context: w.ctx,
		TLS: &tls.Config{RootCAs: roots, Certificates: []tls.Certificate{pair}}}))(w.t)
	w.t.Cleanup(func() { etcd.Close() })
	var stop func()
	written := 0
	return fault{name: "etcd full", begin: func() {
		stop = repeatUntilStopped(func() {
			for err := error(nil); err == nil; written++ {
				_, err = etcd.Put(w.ctx, fmt.Sprint("/filler/", written), strings.Repeat("x", 1<<20))
			}
		})
	}, end: func() {
		stop()
		w.waitUntil("etcd has space", func() error {
			deleted, err := etcd.Delete(w.ctx, "/filler/", clientv3.WithPrefix())
			if err == nil {
				_, err = etcd.Compact(w.ctx, deleted.Header.Revision) // the servers compact within minutes
			}
			status, noStatus := etcd.Status(w.ctx, endpoint)
			if noStatus == nil && status.DbSizeInUse > quota/2 { // etcd counts pages as free only after further writes
				return fmt.Errorf("%d octets in use; the last compaction: %v", status.DbSizeInUse, err)
			}
			return noStatus
		})
	},
		words: map[string]string{inStatus: "etcd has the alarm NOSPACE", inDoctor: "^etcd: alarm NOSPACE",
			inAlerts: "KubizoneEtcdOutOfSpace"},
		alerts: []string{"KubizoneEtcdNearQuota", "KubizoneEtcdOutOfSpace"}}
}

// repeatUntilStopped does a step every 200 ms until stop is called, which waits for the last step.
func repeatUntilStopped(step func()) (stop func()) {
	stopping, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			step()
			select {
			case <-stopping:
				return
			case <-time.After(200 * time.Millisecond):
			}
		}
	}()
	return func() { close(stopping); <-stopped }
}

// wrongCA writes another authority into caBundle again and again, since the servers restore it.
func (w *world) wrongCA() fault {
	stranger := must.Get(rig.NewAuthority("somebody else"))(w.t)
	var stop func()
	return fault{name: "wrong CA", zone: "paused", begin: func() {
		stop = repeatUntilStopped(func() {
			for _, name := range []string{"v1alpha1.kubi.zone", "v1alpha1.bind9.kubi.zone"} {
				patch, _ := json.Marshal(map[string]any{"spec": map[string]any{"caBundle": stranger.PEM}})
				all := w.aggregator().ApiregistrationV1().APIServices()
				_, _ = all.Patch(w.ctx, name, types.MergePatchType, patch, metav1.PatchOptions{})
			}
		})
	}, end: func() { stop() },
		words: makeUnreachable("(?s)^trust: kube-apiserver does not trust .* is .*CN=somebody else.*, last written by .*NEXT: stop ",
			"x509|currently unable to handle"), alerts: unavailable}
}

// futureCertificate is a Secret of a server whose clock was wrong.
func (w *world) futureCertificate() fault {
	const name = "kubizone-apiserver-serving"
	secrets := w.core.CoreV1().Secrets(kuberig.InstallNamespace)
	return fault{name: "certificate from the future", zone: "paused", begin: func() {
		later := time.Now().Add(48 * time.Hour)
		ca := must.Get(pki.Issue(nil, pki.Authority("kubizone"), later, 90*24*time.Hour))(w.t)
		leaf := must.Get(pki.Issue(ca, pki.Serving("s", []string{kuberig.ServerName + "." + kuberig.InstallNamespace + ".svc"}), later,
			30*24*time.Hour))(w.t)
		secret := must.Get(secrets.Get(w.ctx, name, metav1.GetOptions{}))(w.t)
		secret.Data[corev1.TLSCertKey], secret.Data[corev1.TLSPrivateKeyKey], secret.Data["ca.crt"] = leaf.CertPEM, leaf.KeyPEM, ca.CertPEM
		must.Get(secrets.Update(w.ctx, secret, metav1.UpdateOptions{}))(w.t)
		w.endProcess("apiserver")
		w.scaleTo("apiserver", 1)
	}, end: func() { must.Succeed(w.t, secrets.Delete(w.ctx, name, metav1.DeleteOptions{})) },
		words:  makeUnreachable("^certificates: .* is valid from", "x509|unable to (handle|return)"),
		alerts: append([]string{"KubizoneAPIServerDown"}, unavailable...)}
}
