// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package serving

import (
	"bytes"
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	certutil "k8s.io/client-go/util/cert"
	"k8s.io/klog/v2"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	apiregistrationv1client "k8s.io/kube-aggregator/pkg/client/clientset_generated/clientset/typed/apiregistration/v1"
	"k8s.io/utils/clock"
)

const (
	// interval is the time between checks. After an error the time is retry, doubled up to interval.
	interval = 30 * time.Second
	retry    = time.Second
	// settle is the time for every kube-apiserver to see an authority in caBundle, before a leaf of the authority is
	// served.
	settle = 30 * time.Second
	// overlap is how long older authorities stay trusted. After that every replica serves the new leaf.
	overlap     = 24 * time.Hour
	attempts    = 5
	passTimeout = time.Minute

	fieldManager = "kubizone-serving"
)

// Config names the Secret with the serving certificate, and the APIServices whose caBundle makes kube-apiserver trust
// the certificate. Further and Clock are optional.
type Config struct {
	Secrets     corev1client.SecretsGetter
	APIServices apiregistrationv1client.APIServicesGetter
	// Namespace and Secret name the Secret; Provider creates an absent Secret.
	Namespace, Secret string
	// APIService is the main registration: "v1alpha1.kubi.zone".
	APIService string
	// Further names more APIServices of the server. If present, they get the same caBundle.
	Further []string
	// Hosts are the DNS names in the certificate, and must not be empty. The name of the APIService's Service is added.
	Hosts []string
	Clock clock.Clock
}

// Validate returns an error for each required field that is missing.
func (c *Config) Validate() error {
	var wrong []error
	if c.Secrets == nil || c.APIServices == nil {
		wrong = append(wrong, errors.New("serving certificate: clients for Secrets and APIServices are required"))
	}
	if c.Namespace == "" || c.Secret == "" {
		wrong = append(wrong, errors.New("serving certificate: namespace and name of its Secret are required"))
	}
	if c.APIService == "" {
		wrong = append(wrong, errors.New("serving certificate: the name of the APIService is required, as v1alpha1.kubi.zone"))
	}
	if len(c.Hosts) == 0 {
		wrong = append(wrong, errors.New("serving certificate: a host to cover is required, as localhost"))
	}
	return errors.Join(wrong...)
}

// Provider supplies the generic API server with its serving certificate (options.GeneratableKeyCert.GeneratedCert).
// Call RunOnce first.
type Provider struct {
	config Config
	clock  clock.Clock
	name   string

	// pass serializes checks, because the generic apiserver calls RunOnce and Run concurrently. pass guards the next
	// two fields.
	pass sync.Mutex
	// trustedSince is when this process first saw a certificate authority in caBundle.
	trustedSince map[identity]time.Time
	lastRead     *material

	// mu guards the fields below. At first, served is nil.
	mu        sync.RWMutex
	served    *material
	listeners []dynamiccertificates.Listener
}

var (
	_ dynamiccertificates.CertKeyContentProvider = (*Provider)(nil)
	_ dynamiccertificates.ControllerRunner       = (*Provider)(nil)
)

// New sends no request. The Provider has no certificate yet.
func New(config Config) (*Provider, error) {
	if err := config.Validate(); err != nil {
		return nil, err
	}
	p := &Provider{config: config, clock: config.Clock, trustedSince: map[identity]time.Time{},
		name: "secret " + config.Namespace + "/" + config.Secret}
	if p.clock == nil {
		p.clock = clock.RealClock{}
	}
	return p, nil
}

func (p *Provider) Name() string { return p.name }

func (p *Provider) CurrentCertKeyContent() (cert, key []byte) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	if p.served == nil {
		return nil, nil
	}
	return p.served.leaf.CertPEM, p.served.leaf.KeyPEM
}

func (p *Provider) Authority() *x509.Certificate {
	p.mu.RLock()
	defer p.mu.RUnlock()
	if p.served == nil {
		return nil
	}
	return p.served.authority.Cert
}

func (p *Provider) AddListener(listener dynamiccertificates.Listener) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.listeners = append(p.listeners, listener)
}

// RunOnce checks and renews. RunOnce fails only if there is no certificate to serve. Run retries.
func (p *Provider) RunOnce(ctx context.Context) error {
	err := p.checkAll(ctx)
	if err == nil {
		return nil
	}
	if cert, _ := p.CurrentCertKeyContent(); cert == nil {
		return err
	}
	klog.FromContext(ctx).Info("Serving certificate: the present one stays in use; trying again", "reason", err.Error())
	return nil
}

// Run checks each interval until ctx ends. After an error Run retries sooner, and logs only a new message.
func (p *Provider) Run(ctx context.Context, _ int) {
	wait, message := retry, ""
	for {
		select {
		case <-ctx.Done():
			return
		case <-p.clock.After(wait):
		}
		err := p.checkAll(ctx)
		if err == nil {
			wait, message = interval, ""
			continue
		}
		if ctx.Err() != nil {
			return
		}
		if err.Error() != message {
			message = err.Error()
			wait = retry
			klog.FromContext(ctx).Error(err, "Serving certificate: trying again")
		} else {
			wait = min(2*wait, interval)
		}
	}
}

// checkAll renews the Secret if due, writes the authorities into each caBundle, and serves the leaf last (C2). The
// APIService is read before the Secret. If another replica then writes caBundle, the write here fails by the
// resourceVersion (C3).
func (p *Provider) checkAll(ctx context.Context) error {
	p.pass.Lock()
	defer p.pass.Unlock()
	ctx, cancel := context.WithTimeout(ctx, passTimeout)
	defer cancel()

	registration, mainErr := p.getAPIService(ctx, p.config.APIService)
	absent := apierrors.IsNotFound(mainErr)
	var further []*apiregistrationv1.APIService
	var furtherErr error
	for _, name := range p.config.Further {
		other, err := p.getAPIService(ctx, name)
		switch {
		case err == nil:
			further = append(further, other)
		case !apierrors.IsNotFound(err): // an older installation may lack it
			furtherErr = errors.Join(furtherErr, err)
		}
	}
	hosts := p.config.Hosts
	if registration != nil {
		service := registration.Spec.Service
		hosts = append(slices.Clone(hosts), service.Name+"."+service.Namespace+".svc")
	}
	material, err := p.ensureSecret(ctx, registration, hosts)
	if err != nil {
		return errors.Join(err, mainErr, furtherErr)
	}
	p.lastRead = material
	// The main APIService is written last, so an authority that is trusted there is trusted in all.
	for _, other := range further {
		furtherErr = errors.Join(furtherErr, p.writeBundle(ctx, other, material))
	}
	if registration != nil {
		mainErr = p.publishAuthorities(ctx, registration, material)
	}
	// The first leaf is served at once, a later leaf only when kube-apiserver trusts its authority.
	p.serveLeaf(ctx, material, absent)
	return errors.Join(mainErr, furtherErr)
}

// getAPIService returns an APIService whose caBundle this server may write, or an error with the next step.
func (p *Provider) getAPIService(ctx context.Context, name string) (*apiregistrationv1.APIService, error) {
	registration, err := p.config.APIServices.APIServices().Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return nil, fmt.Errorf("caBundle: there is no APIService %s yet: apply the manifest that has it: %w", name, err)
	case err != nil:
		return nil, fmt.Errorf("caBundle: APIService %s: %w", name, err)
	case registration.Spec.Service == nil:
		return nil, fmt.Errorf("caBundle: APIService %s names no service: it is that of a CustomResourceDefinition; "+
			"apply the manifest of kubizone's, without the label kube-aggregator.kubernetes.io/automanaged", name)
	case registration.Spec.InsecureSkipTLSVerify:
		return nil, fmt.Errorf("caBundle: APIService %s has insecureSkipTLSVerify, with which any server could pass for the API server: "+
			"set it to false", name)
	}
	return registration, nil
}

// ensureSecret returns the material of the Secret, created or renewed if due. registration is nil if unknown. Replicas
// do this at once, and the first write wins.
func (p *Provider) ensureSecret(ctx context.Context, registration *apiregistrationv1.APIService, hosts []string) (*material, error) {
	secrets := p.config.Secrets.Secrets(p.config.Namespace)
	var conflict error
	for range attempts {
		secret, err := secrets.Get(ctx, p.config.Secret, metav1.GetOptions{})
		absent := apierrors.IsNotFound(err)
		if err != nil && !absent {
			return nil, fmt.Errorf("serving certificate: %s: %w", p.name, err)
		}
		var have *material
		if !absent {
			if have, err = parseMaterial(secret.Data); err != nil {
				return nil, fmt.Errorf("serving certificate: %s cannot be used: %w; delete it and it is made anew, "+
					"or serve your own certificate with --tls-cert-file", p.name, err)
			}
		}
		now := p.clock.Now()
		after, why, err := have.renewIfDue(p.rememberedAuthorities(registration), hosts, have != nil &&
			p.isTrustedFor(registration, have.authority.Cert, overlap), now)
		if err != nil {
			return nil, fmt.Errorf("serving certificate: %w", err)
		}
		if why == "" {
			return have, nil
		}
		if absent {
			_, err = secrets.Create(ctx, &corev1.Secret{
				ObjectMeta: metav1.ObjectMeta{Name: p.config.Secret, Namespace: p.config.Namespace,
					Labels: map[string]string{"app.kubernetes.io/name": "kubizone"}},
				Type: corev1.SecretTypeTLS,
				Data: after.data(),
			}, metav1.CreateOptions{FieldManager: fieldManager})
		} else {
			secret = secret.DeepCopy()
			secret.Data = after.data()
			_, err = secrets.Update(ctx, secret, metav1.UpdateOptions{FieldManager: fieldManager})
		}
		switch {
		case err == nil:
			klog.FromContext(ctx).Info("Serving certificate: written", "secret", klog.KRef(p.config.Namespace, p.config.Secret), "why", why,
				"expires", after.leaf.Cert.NotAfter)
			return after, nil
		// Another replica was faster: read the Secret again.
		case apierrors.IsAlreadyExists(err), apierrors.IsConflict(err), apierrors.IsNotFound(err):
			conflict = err
		default:
			return nil, fmt.Errorf("serving certificate: %s: %w", p.name, err)
		}
	}
	return nil, fmt.Errorf("serving certificate: %s: changed %d times while it was renewed: %w", p.name, attempts, conflict)
}

// rememberedAuthorities returns the authorities whose leaves may still be served after the Secret was deleted: those
// read last, and those in caBundle.
func (p *Provider) rememberedAuthorities(registration *apiregistrationv1.APIService) []*x509.Certificate {
	var authorities []*x509.Certificate
	if p.lastRead != nil {
		authorities = slices.Clone(p.lastRead.trust)
	}
	if registration != nil {
		certs, _ := certutil.ParseCertsPEM(registration.Spec.CABundle) // not trusted by kube-apiserver either
		for _, cert := range certs {
			if !slices.ContainsFunc(authorities, cert.Equal) {
				authorities = append(authorities, cert)
			}
		}
	}
	return authorities
}

// publishAuthorities writes the authorities into the main APIService, and notes since when caBundle has the present
// authority. The caller holds p.pass.
func (p *Provider) publishAuthorities(ctx context.Context, registration *apiregistrationv1.APIService, m *material) error {
	authority := m.authority.Cert
	// The authority was removed, for example by applying the manifest, so the time to settle begins again.
	if !bytes.Equal(registration.Spec.CABundle, m.bundle()) && !containsAuthority(registration.Spec.CABundle, authority) {
		delete(p.trustedSince, identify(authority))
	}
	if err := p.writeBundle(ctx, registration, m); err != nil {
		return err
	}
	if _, ok := p.trustedSince[identify(authority)]; !ok {
		p.trustedSince[identify(authority)] = p.clock.Now()
	}
	return nil
}

// writeBundle writes nothing if the APIService has changed (C3).
func (p *Provider) writeBundle(ctx context.Context, registration *apiregistrationv1.APIService, m *material) error {
	bundle := m.bundle()
	if bytes.Equal(registration.Spec.CABundle, bundle) {
		return nil
	}
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"resourceVersion": registration.ResourceVersion, "uid": registration.UID},
		"spec":     map[string]any{"caBundle": bundle},
	})
	if err != nil {
		return err
	}
	if _, err := p.config.APIServices.APIServices().Patch(ctx, registration.Name, types.MergePatchType, patch,
		metav1.PatchOptions{FieldManager: fieldManager}); err != nil {
		return fmt.Errorf("caBundle: APIService %s: %w", registration.Name, err)
	}
	klog.FromContext(ctx).Info("Serving certificate: caBundle written", "apiService", registration.Name, "authorities", len(m.trust))
	return nil
}

func (p *Provider) isTrustedFor(registration *apiregistrationv1.APIService, authority *x509.Certificate, d time.Duration) bool {
	since, ok := p.trustedSince[identify(authority)]
	return ok && registration != nil && p.clock.Since(since) >= d && containsAuthority(registration.Spec.CABundle, authority)
}

// serveLeaf serves the Secret's certificate once caBundle has had its authority for the duration settle, so that
// kube-apiserver trusts the certificate (C2).
func (p *Provider) serveLeaf(ctx context.Context, m *material, unregistered bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.served != nil {
		if bytes.Equal(p.served.leaf.CertPEM, m.leaf.CertPEM) {
			return
		}
		now := p.clock.Now()
		since, isTrusted := p.trustedSince[identify(m.authority.Cert)]
		isSettled := isTrusted && now.Sub(since) >= settle
		sameAuthority := p.served.authority.Cert.Equal(m.authority.Cert)
		isExpired := now.After(p.served.leaf.Cert.NotAfter)
		mayReplace := sameAuthority || isSettled || isExpired || unregistered // unregistered: kube-apiserver forwards no request
		if !mayReplace {
			return
		}
	}
	p.served = m
	klog.FromContext(ctx).Info("Serving certificate: served from now on", "from", p.name, "expires", m.leaf.Cert.NotAfter)
	for _, listener := range p.listeners {
		listener.Enqueue()
	}
}
