// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"bytes"
	"crypto/x509"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	certutil "k8s.io/client-go/util/cert"
)

// expirySoon means a missed renewal: leaves are renewed when a third is left.
const expirySoon = 14 * 24 * time.Hour

// certificate is a leaf or a bundle, from the first begin (zero if unknown) to the last end.
type certificate struct {
	name       string
	begin, end time.Time
	renewal    string
}

func (f *facts) listCertificates() (all []certificate) {
	leaf := func(name string, chain []*x509.Certificate, next string) {
		if len(chain) > 0 {
			all = append(all, certificate{name, chain[0].NotBefore, chain[0].NotAfter, next})
		}
	}
	bundle := func(name string, text []byte, next string) {
		certs, err := certutil.ParseCertsPEM(text)
		if err != nil {
			return
		}
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
		bundle("caBundle of "+registered.Name, registered.Spec.CABundle, renew)
	}
	for _, a := range f.answers {
		leaf("certificate of "+a.from, a.chain, renew)
	}
	namespace, _, _ := f.serviceRef()
	nexts := map[string]string{servingSecret: renew, etcdClientSecret: "renew it, and restart the servers", peerSecret: "kubectl delete " +
		"secret -n " + namespace + " " + peerSecret + ", and restart the servers: the first makes a new one"}
	for _, name := range slices.Sorted(maps.Keys(f.secrets)) {
		chain, err := certutil.ParseCertsPEM(f.secrets[name].Data[corev1.TLSCertKey])
		if err == nil {
			leaf("Secret "+name, chain, nexts[name])
		}
	}
	if f.authorities != nil {
		for _, key := range []string{"client-ca-file", "requestheader-client-ca-file"} {
			bundle(key+" of kube-apiserver", []byte(f.authorities.Data[key]), "renew it on the control plane (kubeadm certs, --"+key+")")
		}
	}
	if i := f.overview.Installation; i != nil {
		for _, one := range i.Certificates {
			next := "renew its file, and restart the servers"
			if one.Name == "serving" || one.Name == "serving-ca" {
				next = renew
			}
			all = append(all, certificate{name: "certificate " + one.Name, end: one.NotAfter.Time, renewal: next})
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
	case soon == nil:
		return warn(check, "no certificate could be read", "see servers")
	case now.Add(expirySoon).After(soon.end):
		return warn(check, soon.name+" expires on "+soon.end.UTC().Format(time.DateOnly), "it should have been renewed; "+soon.renewal)
	}
	return ok(check, fmt.Sprintf("%d, the first ends on %s", len(all), soon.end.UTC().Format(time.DateOnly)))
}

// judgeTrust judges whether kube-apiserver trusts the certificate that a server presents, else the Secret's.
func (f *facts) judgeTrust(now time.Time) Finding {
	const check = "trust"
	zones := f.registration(mainAPI)
	if zones == nil {
		return Finding{} // see installation
	}
	namespace, service, _ := f.serviceRef()
	host := service + "." + namespace + ".svc"
	for _, other := range f.registrations {
		unserved := len(other.Spec.CABundle) == 0 && !slices.Contains(requiredAPIs, other.Name) // see apiservices
		if !unserved && !bytes.Equal(zones.Spec.CABundle, other.Spec.CABundle) {
			first, _ := describeBundle(zones)
			second, writer := describeBundle(&other)
			next := mendBundle(writer, host)
			if !slices.Contains(requiredAPIs, other.Name) {
				next += "; then " + f.nextForAPI(other.Name, "")
			}
			return fail(check, "APIServices have different caBundles: "+first+"; "+second, next)
		}
	}
	if len(zones.Spec.CABundle) == 0 {
		next := "the server writes it when it starts with --serving-cert-secret: see its log"
		if f.byCertManager() {
			next = "look at the log of cert-manager's cainjector, which writes it, and at the Certificate"
		}
		return fail(check, "caBundle is empty: kube-apiserver trusts no certificate of the server", next)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(zones.Spec.CABundle) {
		return fail(check, "caBundle is not PEM", "remove caBundle from the manifest; the server writes it")
	}
	chains := map[string][]*x509.Certificate{}
	for _, a := range f.answers {
		if len(a.chain) > 0 {
			chains[a.from] = a.chain
		}
	}
	if secret := f.secrets[servingSecret]; len(chains) == 0 && secret != nil {
		chain, err := certutil.ParseCertsPEM(secret.Data[corev1.TLSCertKey])
		if err != nil {
			return fail(check, "Secret "+servingSecret+" has no certificate: "+err.Error(), f.renewServing())
		}
		chains["Secret "+servingSecret] = chain
	}
	for _, from := range slices.Sorted(maps.Keys(chains)) {
		chain, between := chains[from], x509.NewCertPool()
		for _, cert := range chain[1:] {
			between.AddCert(cert)
		}
		options := x509.VerifyOptions{DNSName: host, Roots: roots, Intermediates: between, CurrentTime: now}
		if _, err := chain[0].Verify(options); err != nil {
			bundle, writer := describeBundle(zones)
			if unknown, ok := errors.AsType[x509.UnknownAuthorityError](err); ok {
				err = x509.UnknownAuthorityError{Cert: unknown.Cert} // without the hint of another error
			}
			return fail(check, fmt.Sprintf("kube-apiserver does not trust the certificate of %s for %s: %v; %s", from, host, err, bundle),
				mendBundle(writer, host))
		}
	}
	if len(chains) == 0 {
		if f.secretErr != nil {
			return notRead(check, "Secret "+servingSecret, f.secretErr)
		}
		return warn(check, "no certificate of a server is seen from here", "see servers")
	}
	return ok(check, "kube-apiserver trusts "+service)
}
