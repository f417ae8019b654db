// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"crypto/x509"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	certutil "k8s.io/client-go/util/cert"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	"kubi.zone/kubizone/pkg/client/overview"
)

// certificate is a leaf, or a bundle with its earliest begin and latest end.
type certificate struct {
	name       string
	begin, end time.Time
	renewal    string
}

// listCertificates returns all certificates read: caBundles, the servers' own, and those in Secrets. Each has the step
// for a renewal.
func (f *facts) listCertificates() (all []certificate) {
	add := func(name, next string, certs ...*x509.Certificate) {
		one := certificate{name, certs[0].NotBefore, certs[0].NotAfter, next}
		for _, c := range certs {
			if c.NotBefore.Before(one.begin) {
				one.begin = c.NotBefore
			}
			if c.NotAfter.After(one.end) {
				one.end = c.NotAfter
			}
		}
		all = append(all, one)
	}
	renew := f.renewServing()
	for _, registered := range f.registrations {
		// judgeTrust reports an invalid caBundle.
		if certs, err := certutil.ParseCertsPEM(registered.Spec.CABundle); err == nil {
			add("caBundle of "+registered.Name, renew, certs...)
		}
	}
	for _, a := range f.answers {
		if len(a.chain) > 0 {
			add("certificate of "+a.from, renew, a.chain[0])
		}
	}
	namespace, _, _ := f.serviceRef()
	nexts := map[string]string{servingSecret: renew, etcdClientSecret: "renew it, and restart the servers", peerSecret: "kubectl delete " +
		"secret -n " + namespace + " " + peerSecret + ", and restart the servers: the first makes a new one"}
	for _, name := range slices.Sorted(maps.Keys(f.secrets)) {
		if chain, err := certutil.ParseCertsPEM(f.secrets[name].Data[corev1.TLSCertKey]); err == nil {
			add("Secret "+name, nexts[name], chain[0])
		}
	}
	return all
}

func (f *facts) renewServing() string {
	if f.byCertManager() {
		return "look at the Certificate " + servingSecret + " and the log of cert-manager, which issues it"
	}
	namespace, _, _ := f.serviceRef()
	return "kubectl delete secret -n " + namespace + " " + servingSecret + ": the servers make a new one"
}

// judgeCertificates fails at the first certificate that is expired or not valid yet, and warns before the first end.
// now is kube-apiserver's time.
func (f *facts) judgeCertificates(now time.Time) Finding {
	const check = "certificates"
	all := f.listCertificates()
	var soon *certificate
	for i := range all {
		one := &all[i]
		switch {
		case now.Before(one.begin):
			return fail(check, fmt.Sprintf("%s is valid from %s on, and kube-apiserver's clock is at %s", one.name,
				one.begin.UTC().Format(time.RFC3339), now.UTC().Format(time.RFC3339)), "set the wrong clock, see clocks; then "+one.renewal)
		case now.After(one.end):
			return fail(check, one.name+" expired on "+one.end.UTC().Format(time.DateOnly), one.renewal)
		case soon == nil || one.end.Before(soon.end):
			soon = one
		}
	}
	switch {
	case soon == nil && f.standalone(): // the client has verified the certificate of its kubeconfig
		return Finding{}
	case soon == nil:
		return warn(check, "no certificate could be read", "see servers")
	case now.Add(overview.EndsSoon).After(soon.end):
		return warn(check, soon.name+" expires on "+soon.end.UTC().Format(time.DateOnly), "it should have been renewed; "+soon.renewal)
	}
	return ok(check, fmt.Sprintf("%d, the first ends on %s", len(all), soon.end.UTC().Format(time.DateOnly)))
}

// judgeTrust checks that kube-apiserver trusts the certificate that a server presents, or else the certificate in the
// Secret.
func (f *facts) judgeTrust(now time.Time) Finding {
	const check = "trust"
	if f.registration(mainAPI) == nil {
		return Finding{} // judgeInstallation reports this
	}
	namespace, service, _ := f.serviceRef()
	options := x509.VerifyOptions{DNSName: service + "." + namespace + ".svc", CurrentTime: now}
	from, chain := f.findServed()
	for i := range f.registrations {
		registration := &f.registrations[i]
		isOptional := !slices.Contains(requiredAPIs, registration.Name)
		// The servers may run without the flag of this API, and then write no caBundle.
		if isOptional && len(registration.Spec.CABundle) == 0 {
			continue
		}

		bundle, writer := describeBundle(registration)
		options.Roots = x509.NewCertPool()
		if !options.Roots.AppendCertsFromPEM(registration.Spec.CABundle) {
			return fail(check, bundle+": kube-apiserver trusts no certificate of the server", f.mendBundle(writer,
				"the server writes it when it starts with --serving-cert-secret: see its log"))
		}
		// No certificate is known, so only the caBundle can be judged.
		if len(chain) == 0 {
			continue
		}
		if err := verifyChain(chain, options); err != nil {
			return fail(check, fmt.Sprintf("kube-apiserver does not trust the certificate of %s for %s: %v; %s", from, options.DNSName, err,
				bundle), f.mendBundle(writer, "look for another writer of caBundle, such as a GitOps tool (kubectl get apiservice -o yaml "+
				"--show-managed-fields), "+bundleWait+"; without that flag, put the authority into caBundle, and "+options.DNSName+
				" into the names of the certificate"))
		}
	}
	switch {
	case len(chain) > 0:
		return ok(check, "kube-apiserver trusts "+service)
	case f.secretErr != nil:
		return notRead(check, "Secret "+servingSecret, f.secretErr)
	}
	return warn(check, "no certificate of a server is seen from here", "see servers")
}

func verifyChain(chain []*x509.Certificate, options x509.VerifyOptions) error {
	options.Intermediates = x509.NewCertPool()
	for _, cert := range chain[1:] {
		options.Intermediates.AddCert(cert)
	}
	_, err := chain[0].Verify(options)
	if unknown, ok := errors.AsType[x509.UnknownAuthorityError](err); ok {
		return x509.UnknownAuthorityError{Cert: unknown.Cert} // without the hint of another error
	}
	return err
}

// findServed returns the certificate presented by a server or, if none was reached, the certificate in the Secret. The
// chain is empty without both.
func (f *facts) findServed() (from string, chain []*x509.Certificate) {
	for _, a := range f.answers {
		if len(a.chain) > 0 {
			return a.from, a.chain
		}
	}
	if secret := f.secrets[servingSecret]; secret != nil {
		chain, _ = certutil.ParseCertsPEM(secret.Data[corev1.TLSCertKey]) // empty before the first server starts
	}
	return "Secret " + servingSecret, chain
}

const (
	ourManager = "kubizone-serving"
	injector   = "cainjector"
)

// describeBundle returns a description of caBundle, and the last writer: "" if unknown, or a server.
func describeBundle(service *apiregistrationv1.APIService) (text, writer string) {
	certs, err := certutil.ParseCertsPEM(service.Spec.CABundle)
	if err != nil {
		text = "caBundle of " + service.Name + " is empty or not PEM"
	} else {
		text = "caBundle of " + service.Name + " is " + certs[0].Subject.String()
	}
	var last *metav1.ManagedFieldsEntry
	// The latest entry with caBundle: of a server, of cainjector, or of a GitOps tool.
	for i := range service.ManagedFields {
		entry := &service.ManagedFields[i]
		wrote := entry.FieldsV1 != nil && strings.Contains(entry.FieldsV1.GetRawString(), `"f:caBundle"`)
		if wrote && (last == nil || last.Time.Before(entry.Time)) {
			last = entry
		}
	}
	if last == nil {
		return text, ""
	}
	text += ", last written by " + last.Manager
	if last.Time != nil {
		text += " at " + last.Time.UTC().Format("15:04:05Z on 2 January")
	}
	return text, strings.TrimPrefix(last.Manager, ourManager)
}

const bundleWait = "then wait half a minute, as servers with --serving-cert-secret write caBundle"

// mendBundle returns the next step for a wrong caBundle, by its last writer. otherwise is the step if a server has
// written it, or the writer is unknown.
func (f *facts) mendBundle(writer, otherwise string) string {
	switch {
	case strings.Contains(writer, injector), writer == "" && f.byCertManager():
		return "look at the log of cert-manager's cainjector, which writes caBundle, and at the Certificate"
	case writer != "":
		return "stop " + writer + " from writing caBundle (a GitOps tool: docs/gitops.md, ignoreDifferences), " + bundleWait +
			"; without that flag, put the servers' authority into caBundle"
	}
	return otherwise
}
