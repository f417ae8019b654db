// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"bytes"
	"crypto/x509"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	"k8s.io/utils/ptr"

	"kubi.zone/kubizone/pkg/cmd/output"
	"kubi.zone/kubizone/pkg/pki"
	"kubi.zone/kubizone/pkg/version"
	"kubi.zone/kubizone/test/must"
)

const servedName = "kubizone-apiserver.kubizone-system.svc"

var now = time.Now()

func issueAuthority(t *testing.T) *pki.Pair {
	t.Helper()
	return must.Get(pki.Issue(nil, pki.Authority("a"), now, 365*24*time.Hour))(t)
}

func issueLeaf(t *testing.T, ca *pki.Pair, host string, life time.Duration) *pki.Pair {
	t.Helper()
	return must.Get(pki.Issue(ca, pki.Serving("s", []string{host}), now, life))(t)
}

const (
	readyz  = "[+]ping ok\n[+]etcd ok\nreadyz check passed\n"
	healthz = "[+]ping ok\n[+]etcd ok\n[+]etcd-space ok\n[+]etcd-corrupt ok\nhealthz check passed\n"
)

func makeHealthyFacts(t *testing.T) (*facts, *pki.Pair) {
	ca := issueAuthority(t)
	yes, port := true, int32(10250)
	registered := func(name string) apiregistrationv1.APIService {
		return apiregistrationv1.APIService{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec: apiregistrationv1.APIServiceSpec{CABundle: ca.CertPEM,
				Service: &apiregistrationv1.ServiceReference{Namespace: "kubizone-system", Name: "kubizone-apiserver"}},
			Status: apiregistrationv1.APIServiceStatus{Conditions: []apiregistrationv1.APIServiceCondition{
				{Type: apiregistrationv1.Available, Status: apiregistrationv1.ConditionTrue}}},
		}
	}
	serving := issueLeaf(t, ca, servedName, 90*24*time.Hour)
	return &facts{
		secret:  &corev1.Secret{Data: map[string][]byte{corev1.TLSCertKey: serving.CertPEM}},
		version: "v1.37.1", account: "system:serviceaccount:kubizone-system:kubizone-apiserver",
		registrations: []apiregistrationv1.APIService{registered(apiServices[0]), registered(apiServices[1])},
		service:       &corev1.Service{Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 443}}}},
		slices: []discoveryv1.EndpointSlice{{Endpoints: []discoveryv1.Endpoint{{Addresses: []string{"10.0.0.7"},
			Conditions: discoveryv1.EndpointConditions{Ready: &yes}}}, Ports: []discoveryv1.EndpointPort{{Port: &port}}}},
		pods: []corev1.Pod{{
			ObjectMeta: metav1.ObjectMeta{Name: "kubizone-apiserver-0"}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Image: "registry.example:5000/kubizone:v" + version.Number()}}},
			Status: corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}},
		}},
		ahead:   map[string]time.Duration{kubeAPIServer: 0, "10.0.0.7:10250": time.Second},
		answers: []answer{{from: "10.0.0.7:10250", chain: []*x509.Certificate{serving.Cert}, checks: readyz + healthz}},
	}, ca
}

func findCheck(t *testing.T, findings []Finding, check string) Finding {
	t.Helper()
	at := slices.IndexFunc(findings, func(f Finding) bool { return f.Check == check })
	if at < 0 {
		t.Fatalf("no check %s in %+v", check, findings)
	}
	return findings[at]
}

func TestJudge_findsNothingInAHealthyInstallation(t *testing.T) {
	f, _ := makeHealthyFacts(t)
	for _, finding := range judgeFacts(f, now) {
		if finding.Status != OK || finding.Next != "" {
			t.Errorf("%+v", finding)
		}
	}
}

var forbidden = apierrors.NewForbidden(schema.GroupResource{Resource: "things"}, "", errors.New("no"))

// D1, D2: each case has a single fault, with message and next step.
func TestJudge_namesTheFaultAndTheNextStep(t *testing.T) {
	for name, test := range map[string]struct {
		break_            func(*testing.T, *facts, *pki.Pair)
		check             string
		status            Status
		want, andThenNext string
	}{
		"kube-apiserver away": {func(_ *testing.T, f *facts, _ *pki.Pair) { f.versionErr = errors.New("refused") }, "kube-apiserver", Fail, "refused", "--kubeconfig"},
		"kube-apiserver old": {func(_ *testing.T, f *facts, _ *pki.Pair) {
			f.absent = []string{"validatingadmissionpolicies.admissionregistration.k8s.io"}
		}, "version", Fail, "validatingadmissionpolicies", "--disable-admission-plugins"},
		"no APIService": {func(_ *testing.T, f *facts, _ *pki.Pair) { f.registrations = f.registrations[1:] },
			"apiservice", Fail, "v1alpha1.kubi.zone does not exist", "kubectl apply"},
		"and no caBundle": {func(_ *testing.T, f *facts, _ *pki.Pair) { f.registrations = f.registrations[1:] },
			"cabundle", Warn, "there is no v1alpha1.kubi.zone", "apiservice"},
		"APIService unseen": {func(_ *testing.T, f *facts, _ *pki.Pair) { f.registrations, f.registrationsErr = nil, forbidden },
			"apiservice", Warn, "could not be read", "permission to read"},
		"APIService of a CRD": {func(_ *testing.T, f *facts, _ *pki.Pair) { f.registrations[0].Spec.Service = nil },
			"apiservice", Fail, "CustomResourceDefinition", "migration.md"},
		"automanaged": {func(_ *testing.T, f *facts, _ *pki.Pair) {
			f.registrations[0].Labels = map[string]string{automanaged: "true"}
		}, "apiservice", Fail, "CustomResourceDefinition", "kubectl label"},
		"no verification": {func(_ *testing.T, f *facts, _ *pki.Pair) { f.registrations[0].Spec.InsecureSkipTLSVerify = true },
			"apiservice", Fail, "insecureSkipTLSVerify", "false"},
		"not available": {func(_ *testing.T, f *facts, _ *pki.Pair) {
			f.registrations[1].Status.Conditions[0] = apiregistrationv1.APIServiceCondition{Type: apiregistrationv1.Available,
				Status: apiregistrationv1.ConditionFalse, Reason: "FailedDiscoveryCheck", Message: "context deadline exceeded"}
		}, "apiservice", Fail, "v1alpha1.bind9.kubi.zone, and says FailedDiscoveryCheck: context deadline exceeded", "10250"},
		"fleet without bundle": {func(_ *testing.T, f *facts, _ *pki.Pair) { f.registrations[1].Spec.CABundle = nil },
			"cabundle", Fail, "different", "--serving-cert-secret"},
		"a group that the servers do not serve": {func(_ *testing.T, f *facts, _ *pki.Pair) { f.registerACME() },
			"apiservice", Fail, "v1alpha1.acme.kubi.zone, and says FailedDiscoveryCheck",
			"kubectl delete apiservice v1alpha1.acme.kubi.zone"},
		"a caBundle that the servers do not write": {func(_ *testing.T, f *facts, _ *pki.Pair) { f.registerACME() },
			"cabundle", Fail, "v1alpha1.kubi.zone and v1alpha1.acme.kubi.zone have different", "--acme"},
		"nothing selected": {func(_ *testing.T, f *facts, _ *pki.Pair) { f.slices = nil }, "endpoints", Fail, "selects no pod", "label"},
		"none ready": {func(_ *testing.T, f *facts, _ *pki.Pair) { *f.slices[0].Endpoints[0].Conditions.Ready = false },
			"endpoints", Fail, "none of 1", "ready below"},
		"caBundle empty": {func(_ *testing.T, f *facts, _ *pki.Pair) { f.setBundles(nil) }, "cabundle", Fail,
			"empty", "--serving-cert-secret"},
		"caBundle empty with cert-manager": {func(_ *testing.T, f *facts, _ *pki.Pair) {
			f.registrations[0].Spec.CABundle, f.registrations[1].Spec.CABundle = nil, nil
			f.registrations[0].Annotations = map[string]string{"cert-manager.io/inject-ca-from": "x/y"}
		}, "cabundle", Fail, "empty", "cainjector"},
		"caBundle garbage": {func(_ *testing.T, f *facts, _ *pki.Pair) { f.setBundles([]byte("x")) }, "cabundle", Fail, "not PEM",
			"manifest"},
		"caBundle expired": {func(t *testing.T, f *facts, _ *pki.Pair) {
			old := must.Get(pki.Issue(nil, pki.Authority("a"), now.Add(-48*time.Hour), 24*time.Hour))(t)
			f.setBundles(old.CertPEM)
		}, "cabundle", Fail, "expired on", "kubectl delete secret"},
		"served by another authority": {func(t *testing.T, f *facts, _ *pki.Pair) {
			f.answers[0].chain = []*x509.Certificate{issueLeaf(t, issueAuthority(t), servedName, time.Hour).Cert}
		}, "certificate", Fail, "10.0.0.7:10250", "caBundle"},
		"served for another name": {func(t *testing.T, f *facts, ca *pki.Pair) {
			f.answers[0].chain = []*x509.Certificate{issueLeaf(t, ca, "localhost", 90*24*time.Hour).Cert}
		}, "certificate", Fail, servedName, "names"},
		"clocks differ": {func(t *testing.T, f *facts, ca *pki.Pair) {
			later := must.Get(pki.Issue(ca, pki.Serving("s", []string{servedName}), now.Add(2*time.Hour), 90*24*time.Hour))(t)
			f.answers[0].chain = []*x509.Certificate{later.Cert}
		}, "certificate", Fail, "is valid from", "a clock was wrong when it was made, or is"},
		"a clock of an hour ago, and that of kube-apiserver with it": {func(_ *testing.T, f *facts, _ *pki.Pair) {
			f.ahead = map[string]time.Duration{kubeAPIServer: -time.Hour, "pod a": -time.Hour - time.Second}
		}, "clocks", Warn, "the clock of this machine and kube-apiserver's are 1h0m0s apart", "set that which is wrong"},
		"a server's clock ahead": {func(_ *testing.T, f *facts, _ *pki.Pair) {
			f.ahead = map[string]time.Duration{kubeAPIServer: time.Minute, "pod a": 11 * time.Minute, "pod b": time.Minute}
		}, "clocks", Fail, "the clock of pod a is 10m0s ahead of kube-apiserver's", "timedatectl"},
		"a server's clock somewhat behind": {func(_ *testing.T, f *facts, _ *pki.Pair) { f.ahead["10.0.0.7:10250"] = -30 * time.Second },
			"clocks", Warn, "is 30s behind kube-apiserver's", "timedatectl"},
		"kube-apiserver's clock in the past of the certificate": {func(_ *testing.T, f *facts, _ *pki.Pair) {
			f.ahead = map[string]time.Duration{kubeAPIServer: -3 * time.Hour}
		}, "certificate", Fail, "is valid from", "kubectl delete secret -n kubizone-system kubizone-apiserver-serving"},
		"clocks unseen": {func(_ *testing.T, f *facts, _ *pki.Pair) { f.ahead = nil }, "clocks", Warn, "no answer says", "see ready"},
		"an authority of the future": {func(t *testing.T, f *facts, _ *pki.Pair) {
			future := must.Get(pki.Issue(nil, pki.Authority("a"), now.Add(48*time.Hour), 24*time.Hour))(t)
			f.setBundles(future.CertPEM)
		}, "cabundle", Fail, "its authority is valid from", "a clock was wrong"},
		"certificate expired": {func(t *testing.T, f *facts, ca *pki.Pair) {
			old := must.Get(pki.Issue(ca, pki.Serving("s", []string{servedName}), now.Add(-48*time.Hour), 24*time.Hour))(t)
			f.answers[0].chain = []*x509.Certificate{old.Cert}
		}, "certificate", Fail, "10.0.0.7:10250 expired on", "kubectl delete secret"},
		"certificate expired with cert-manager": {func(t *testing.T, f *facts, ca *pki.Pair) {
			old := must.Get(pki.Issue(ca, pki.Serving("s", []string{servedName}), now.Add(-48*time.Hour), 24*time.Hour))(t)
			f.answers[0].chain = []*x509.Certificate{old.Cert}
			f.registrations[0].Annotations = map[string]string{"cert-manager.io/inject-ca-from": "x/y"}
		}, "certificate", Fail, "expired on", "look at the Certificate"},
		"certificate between members expired": {func(t *testing.T, f *facts, ca *pki.Pair) {
			old := must.Get(pki.Issue(ca, pki.Serving("s", []string{"x"}), now.Add(-48*time.Hour), 24*time.Hour))(t)
			f.others = map[string]*corev1.Secret{peerSecret: {Data: map[string][]byte{corev1.TLSCertKey: old.CertPEM}}}
		}, "certificate", Fail, "Secret kubizone-etcd-peer expired on", "delete the Secret kubizone-etcd-peer"},
		"certificate for etcd near its end": {func(t *testing.T, f *facts, ca *pki.Pair) {
			near := issueLeaf(t, ca, "x", time.Hour).CertPEM
			f.others = map[string]*corev1.Secret{"kubizone-etcd-client": {Data: map[string][]byte{corev1.TLSCertKey: near}}}
		}, "certificate", Warn, "Secret kubizone-etcd-client expires on", "recreate it"},
		"no APIService of a release": {func(_ *testing.T, f *facts, _ *pki.Pair) {
			f.registrations, f.release = f.registrations[:1], release{"dns", 4}
		}, "apiservice", Fail, "v1alpha1.bind9.kubi.zone does not exist", "helm rollback dns 4 -n kubizone-system"},
		"no APIService, and who installed it is unseen": {func(_ *testing.T, f *facts, _ *pki.Pair) {
			f.registrations, f.releaseErr = f.registrations[1:], forbidden
		}, "apiservice", Fail, "does not exist", "helm list -n kubizone-system has a release; else kubectl apply"},
		"nothing installed": {func(_ *testing.T, f *facts, _ *pki.Pair) {
			f.registrations, f.service, f.pods = nil, nil, nil
		}, "apiservice", Fail, "does not exist", "--set image.repository=REGISTRY/kubizone"},
		"a rule of a release is missing": {func(_ *testing.T, f *facts, _ *pki.Pair) {
			f.refused, f.release = []refusal{{Rules()[4], []string{"get mutatingwebhookconfigurations"}}}, release{"dns", 4}
		}, "permissions", Fail, "mutatingwebhookconfigurations", "helm upgrade dns"},
		"not renewed": {func(t *testing.T, f *facts, ca *pki.Pair) {
			f.answers[0].chain = []*x509.Certificate{issueLeaf(t, ca, servedName, 24*time.Hour).Cert}
		}, "certificate", Warn, "expires on", "renewed"},
		"unreached, secret of another authority": {func(t *testing.T, f *facts, _ *pki.Pair) {
			other := issueLeaf(t, issueAuthority(t), servedName, time.Hour)
			f.answers, f.secret = nil, &corev1.Secret{Data: map[string][]byte{corev1.TLSCertKey: other.CertPEM}}
		}, "certificate", Fail, "secret kubizone-apiserver-serving", "caBundle"},
		"unreached, secret unseen": {func(_ *testing.T, f *facts, _ *pki.Pair) { f.answers, f.secret, f.secretErr = nil, nil, forbidden }, "certificate", Warn, "could not be read", "permission to read"},
		"a rule is missing": {func(_ *testing.T, f *facts, _ *pki.Pair) {
			f.refused = []refusal{{Rules()[4], []string{"get mutatingwebhookconfigurations"}}}
		}, "permissions", Fail, "mutatingwebhookconfigurations", "rbac.yaml"},
		"permissions unseen": {func(_ *testing.T, f *facts, _ *pki.Pair) { f.refusedErr = forbidden }, "permissions", Warn,
			"could not be read", "permission to read"},
		"etcd away": {func(_ *testing.T, f *facts, _ *pki.Pair) {
			f.answers[0].checks = "[+]ping ok\n[-]etcd failed: reason withheld\nreadyz check failed\n"
		}, "ready", Fail, "10.0.0.7:10250: etcd", "quorum"},
		"outgrown": {func(_ *testing.T, f *facts, _ *pki.Pair) {
			f.answers[0].checks = "[-]format failed: the store is of format 99\nreadyz check failed\nok"
		}, "ready", Fail, "10.0.0.7:10250: format", "rollout"},
		"etcd corrupt": {func(_ *testing.T, f *facts, _ *pki.Pair) {
			f.answers[0].checks = "[+]ping ok\n[+]etcd-space ok\n[-]etcd-corrupt failed: reason withheld\nhealthz check failed\n"
		}, "ready", Fail, "10.0.0.7:10250: etcd-corrupt", "docs/operations.md, CORRUPT"},
		"etcd full": {func(_ *testing.T, f *facts, _ *pki.Pair) {
			f.answers[0].checks = "[-]etcd-space failed: reason withheld\nhealthz check failed\n"
		}, "ready", Fail, "etcd-space", "quota"},
		"not synced": {func(_ *testing.T, f *facts, _ *pki.Pair) {
			f.answers[0].checks = "[-]informer-sync failed: reason withheld\n"
		}, "ready", Fail, "informer-sync", "log"},
		"a server stops, and another serves": {func(_ *testing.T, f *facts, _ *pki.Pair) {
			f.answers = append(f.answers, answer{from: "pod b", checks: "[+]etcd ok\n[-]shutdown failed: reason withheld\n"})
		}, "ready", Warn, "1 addresses pass every check, and others fail: pod b: shutdown", "run this again in a minute"},
		"a server starts, and another serves": {func(_ *testing.T, f *facts, _ *pki.Pair) {
			f.answers = append(f.answers, answer{from: "pod b", checks: "[-]etcd failed: withheld\n[-]views failed\n[-]etcd failed\n"})
		}, "ready", Warn, "others fail: pod b: etcd, views", "quorum"},
		"one server has seen an alarm": {func(_ *testing.T, f *facts, _ *pki.Pair) {
			f.answers = append(f.answers, answer{from: "pod b", checks: "[-]etcd-space failed: reason withheld\n"})
		}, "ready", Fail, "pod b: etcd-space", "raise the quota"},
		"all servers stop": {func(_ *testing.T, f *facts, _ *pki.Pair) {
			f.answers[0].checks = "[-]shutdown failed: reason withheld\n"
		}, "ready", Fail, "10.0.0.7:10250: shutdown", "log of the server"},
		"one path answered": {func(_ *testing.T, f *facts, _ *pki.Pair) {
			f.answers[0].checks, f.answers[0].err = healthz, errors.New("/readyz: i/o timeout")
		}, "ready", Warn, "10.0.0.7:10250: /readyz: i/o timeout", "pods/proxy"},
		"no server reached": {func(_ *testing.T, f *facts, _ *pki.Pair) {
			f.answers[0] = answer{from: "10.0.0.7:10250", err: errors.New("i/o timeout")}
		}, "ready", Warn, "i/o timeout", "outside the cluster"},
		"a Zone cannot be read": {func(_ *testing.T, f *facts, _ *pki.Pair) {
			f.objectsErr = &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: 500, Message: "proto: illegal wireType 7"}}
		}, "namespaces", Fail, "illegal wireType", "kubizone fsck names its key"},
		"a namespace gone": {func(_ *testing.T, f *facts, _ *pki.Pair) { f.left = map[string]int{"team-b": 2, "team-a": 1} }, "namespaces", Warn, "team-a (1), team-b (2)", "kubectl delete records,delegations,zones --all -n"},
		"Zones unseen":     {func(_ *testing.T, f *facts, _ *pki.Pair) { f.objectsErr = forbidden }, "namespaces", Warn, "could not be read", "permission to read"},
	} {
		t.Run(name, func(t *testing.T) {
			f, ca := makeHealthyFacts(t)
			test.break_(t, f, ca)
			findings := judgeFacts(f, now)
			got := findCheck(t, findings, test.check)
			if got.Status != test.status || !strings.Contains(got.Message, test.want) || !strings.Contains(got.Next, test.andThenNext) {
				t.Errorf("%+v; want %s with %q and next %q", got, test.status, test.want, test.andThenNext)
			}
			for _, finding := range findings {
				if (finding.Status == OK) != (finding.Next == "") {
					t.Errorf("%+v", finding)
				}
			}
		})
	}
}

// A server with a certificate of cert-manager needs no right to create certificates.
func TestJudge_asksForNoRightThatCertManagerHas(t *testing.T) {
	f, _ := makeHealthyFacts(t)
	f.registrations[0].Annotations = map[string]string{"cert-manager.io/inject-ca-from": "x/y"}
	f.refused = refuseAll(func(r Rule) bool { return r.Certificate })
	if len(f.refused) == 0 {
		t.Fatal("no rule is about certificates")
	}
	if got := findCheck(t, judgeFacts(f, now), "permissions"); got.Status != OK {
		t.Errorf("%+v", got)
	}
}

// Only a member of a cluster keeps a peer certificate.
func TestJudge_asksMembersAloneForTheRightsOfMembers(t *testing.T) {
	f, _ := makeHealthyFacts(t)
	f.refused = refuseAll(func(r Rule) bool { return r.Peers })
	if got := findCheck(t, judgeFacts(f, now), "permissions"); got.Status != OK {
		t.Errorf("%+v", got)
	}
	f.pods[0].Spec.InitContainers = []corev1.Container{{Args: []string{"peer-certificate"}}}
	if got := findCheck(t, judgeFacts(f, now), "permissions"); got.Status != Fail || !strings.Contains(got.Message, "kubizone-etcd-peer") {
		t.Errorf("%+v", got)
	}
}

// Only the pod of the mode embedded acts as the controller or the primary.
func TestJudge_asksOnePodAloneForTheRightToActAsOthers(t *testing.T) {
	f, _ := makeHealthyFacts(t)
	f.refused = refuseAll(func(r Rule) bool { return r.Beside != "" })
	if got := findCheck(t, judgeFacts(f, now), "permissions"); got.Status != OK || len(f.refused) != 2 {
		t.Errorf("%+v", got)
	}
	f.pods[0].Spec.Containers = []corev1.Container{{Args: []string{"apiserver", "--", "controller"}}}
	got := findCheck(t, judgeFacts(f, now), "permissions")
	of := func(account string) bool { return strings.Contains(got.Message, account) }
	if got.Status != Fail || !of("kubizone-controller") || of("kubizone-primary") {
		t.Errorf("%+v", got)
	}
}

// D3
func TestWrite_endsWithAnErrorForAFailAlone(t *testing.T) {
	bad := []Finding{ok("a", "fine"), warn("b", "hm", "look"), fail("c", "broken", "mend")}
	var out bytes.Buffer
	if err := writeFindings(&out, &output.Format{}, bad); !errors.Is(err, ErrFailed) {
		t.Error(err)
	}
	if err := writeFindings(&bytes.Buffer{}, &output.Format{}, bad[:2]); err != nil {
		t.Error(err)
	}
	want := "CAUSE: c: broken\nNEXT:  mend\n\nOK    a  fine\nWARN  b  hm\n         next: look\nFAIL  c  broken\n"
	if out.String() != want {
		t.Errorf("%q", out.String())
	}
}

// D4: the cause is printed first, and its consequences refer to it.
func TestWrite_putsTheCauseInFront_D4(t *testing.T) {
	unreached := func(f *facts, want string) {
		f.registrations[0].Status.Conditions[0] = apiregistrationv1.APIServiceCondition{Type: apiregistrationv1.Available,
			Status: apiregistrationv1.ConditionFalse, Reason: "FailedDiscoveryCheck", Message: want}
	}
	for name, test := range map[string]struct {
		break_        func(*facts)
		cause         string
		follow        int // FAILs caused by it
		nextsReported int // steps of the others
	}{
		"packets dropped": {func(f *facts) {
			unreached(f, "timeout")
			f.answers[0] = answer{from: "10.0.0.7:10250", err: errors.New("timeout")}
		}, "apiservice", 0, 1},
		"etcd stopped": {func(f *facts) {
			unreached(f, "bad status")
			f.answers[0].checks = "[-]etcd-readiness failed: reason withheld\n"
			f.slices[0].Endpoints[0].Conditions.Ready = ptr.To(false)
		}, "ready", 2, 0},
		"another authority": {func(f *facts) {
			unreached(f, "x509")
			f.setBundles(issueAuthority(t).CertPEM)
		}, "certificate", 1, 0},
		"a server of the past": {func(f *facts) {
			unreached(f, "x509")
			f.ahead["10.0.0.7:10250"] = -48 * time.Hour
			f.setBundles(nil)
		}, "clocks", 3, 0},
		"no right to write caBundle": {func(f *facts) {
			unreached(f, "x509")
			f.setBundles(nil)
			f.refused = refuseAll(func(r Rule) bool { return r.Certificate })
		}, "permissions", 3, 0},
		"no APIService, and no pod": {func(f *facts) {
			f.registrations, f.slices = f.registrations[1:], nil
		}, "apiservice", 1, 2},
	} {
		f, _ := makeHealthyFacts(t)
		test.break_(f)
		var out bytes.Buffer
		err := writeFindings(&out, &output.Format{}, judgeFacts(f, now))
		reported := strings.Count(out.String(), "\n                   next: ")
		follow := strings.Count(out.String(), "\n                   next: repair the cause above first")
		if !errors.Is(err, ErrFailed) || !strings.HasPrefix(out.String(), "CAUSE: "+test.cause+": ") || follow != test.follow ||
			reported-follow != test.nextsReported {
			t.Errorf("%s: %v, %d follow:\n%s", name, err, follow, out.String())
		}
	}
}

func (f *facts) registerACME() {
	acme := *f.registrations[0].DeepCopy()
	acme.Name, acme.Spec.CABundle = "v1alpha1.acme.kubi.zone", nil
	acme.Status.Conditions[0].Status, acme.Status.Conditions[0].Reason = apiregistrationv1.ConditionFalse, "FailedDiscoveryCheck"
	f.registrations = append(f.registrations, acme)
}

func (f *facts) setBundles(bundle []byte) {
	for i := range f.registrations {
		f.registrations[i].Spec.CABundle = bundle
	}
}

func refuseAll(of func(Rule) bool) (all []refusal) {
	for _, rule := range Rules() {
		if of(rule) {
			all = append(all, refusal{rule, []string{"get " + rule.Resources[0] + " " + strings.Join(rule.ResourceNames, " ")}})
		}
	}
	return all
}
