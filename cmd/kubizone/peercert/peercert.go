// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package peercert

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/clientcmd"

	"kubi.zone/kubizone/pkg/kit/pki"
)

const (
	authorityLife = 50 * 365 * 24 * time.Hour
	leafLife      = 10 * 365 * 24 * time.Hour

	authorityCert = corev1.ServiceAccountRootCAKey
	authorityKey  = "ca.key"

	attempts       = 10
	requestTimeout = time.Minute
)

type Options struct {
	Kubeconfig string
	// Secret is NAMESPACE/NAME.
	Secret string
	Hosts  []string
	Dir    string
}

func (o *Options) AddFlags(flags *pflag.FlagSet) {
	flags.StringVar(&o.Kubeconfig, "kubeconfig", o.Kubeconfig, "cluster that keeps the Secret; without it the one this pod runs in")
	flags.StringVar(&o.Secret, "secret", o.Secret, "NAMESPACE/NAME of the Secret that keeps the certificate for all members; "+
		"made if it is not there")
	flags.StringSliceVar(&o.Hosts, "hosts", o.Hosts, "names under which members reach each other, as *.SERVICE.NAMESPACE.svc")
	flags.StringVar(&o.Dir, "dir", o.Dir, "directory to write ca.crt, tls.crt and tls.key to")
}

func (o *Options) Validate() error {
	var wrong []error
	if namespace, name, ok := strings.Cut(o.Secret, "/"); !ok || namespace == "" || name == "" {
		wrong = append(wrong, fmt.Errorf("--secret %q: must be NAMESPACE/NAME", o.Secret))
	}
	if len(o.Hosts) == 0 {
		wrong = append(wrong, errors.New("--hosts: name at least one, members prove to be it"))
	}
	if info, err := os.Stat(o.Dir); err != nil || !info.IsDir() {
		wrong = append(wrong, fmt.Errorf("--dir %q: must be a directory that is there", o.Dir))
	}
	return errors.Join(wrong...)
}

func NewCommand() *cobra.Command {
	var options Options
	command := &cobra.Command{
		Use:   "peer-certificate",
		Short: "make the certificate that members of the embedded etcd show each other",
		Long: `Make the certificate by which the etcd members of kubizone apiserver --etcd-initial-cluster know each other, keep it in a
Secret for all of them, and write it to files. It runs before the server, as an init container.`,
		Example: "  kubizone peer-certificate --secret kubizone-system/kubizone-etcd-peer --hosts '*.kubizone-etcd.kubizone-system.svc' " +
			"--dir /run/kubizone/peer",
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			if err := options.Validate(); err != nil {
				return err
			}
			config, err := clientcmd.BuildConfigFromFlags("", options.Kubeconfig)
			if err != nil {
				return fmt.Errorf("--kubeconfig: %w", err)
			}
			client, err := kubernetes.NewForConfig(config)
			if err != nil {
				return fmt.Errorf("--kubeconfig: %w", err)
			}
			return options.Run(command.Context(), client.CoreV1(), time.Now())
		},
	}
	options.AddFlags(command.Flags())
	return command
}

// Run writes the etcd member's certificate and key from the Secret into o.Dir. A missing Secret is created, and a
// certificate that is old or lacks a host is renewed.
func (o *Options) Run(ctx context.Context, secrets corev1client.SecretsGetter, now time.Time) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	data, err := o.ensureSecret(ctx, secrets, now)
	if err != nil {
		return fmt.Errorf("--secret %s: %w", o.Secret, err)
	}
	// Write the certificate last: if the file exists, the others do too.
	for _, name := range []string{authorityCert, corev1.TLSPrivateKeyKey, corev1.TLSCertKey} {
		if err := pki.WriteFile(filepath.Join(o.Dir, name), data[name]); err != nil {
			return fmt.Errorf("--dir: %w", err)
		}
	}
	return nil
}

// ensureSecret returns the data of the Secret, with a certificate for all hosts that is not old. It creates or renews
// as needed, and tries again if another member was faster.
func (o *Options) ensureSecret(ctx context.Context, getter corev1client.SecretsGetter, now time.Time) (map[string][]byte, error) {
	namespace, name, _ := strings.Cut(o.Secret, "/")
	secrets := getter.Secrets(namespace)
	var lost error
	for range attempts {
		secret, err := secrets.Get(ctx, name, metav1.GetOptions{})
		// Create a missing Secret, unless another member is faster. Then read again.
		if apierrors.IsNotFound(err) {
			authority, err := pki.Issue(nil, pki.Authority("kubizone etcd peers"), now, authorityLife)
			if err != nil {
				return nil, err
			}
			leaf, err := o.leaf(authority, now)
			if err != nil {
				return nil, err
			}
			secret = &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace,
				Labels: map[string]string{"app.kubernetes.io/part-of": "kubizone"}}, Type: corev1.SecretTypeTLS, Data: map[string][]byte{
				authorityCert: authority.CertPEM, authorityKey: authority.KeyPEM,
				corev1.TLSCertKey: leaf.CertPEM, corev1.TLSPrivateKeyKey: leaf.KeyPEM,
			}}
			if _, err = secrets.Create(ctx, secret, metav1.CreateOptions{}); err == nil {
				return secret.Data, nil
			} else if !apierrors.IsAlreadyExists(err) {
				return nil, err
			}
			lost = err
			continue
		}
		if err != nil {
			return nil, err
		}

		// Keep the authority, and renew the member's certificate if necessary.
		authority, leaf, err := parse(secret.Data)
		if err != nil {
			return nil, fmt.Errorf("%w; running members continue, none can join: delete the Secret and then all members' pods at once, "+
				"and it is recreated", err)
		}
		life := leaf.Cert.NotAfter.Sub(leaf.Cert.NotBefore)
		// Two thirds of ten years: there is time for each member to restart.
		if now.Before(leaf.Cert.NotBefore.Add(life*2/3)) && coversHosts(leaf.Cert, o.Hosts) {
			return secret.Data, nil
		}
		if leaf, err = o.leaf(authority, now); err != nil {
			return nil, err
		}
		secret = secret.DeepCopy()
		secret.Data[corev1.TLSCertKey], secret.Data[corev1.TLSPrivateKeyKey] = leaf.CertPEM, leaf.KeyPEM
		if _, err = secrets.Update(ctx, secret, metav1.UpdateOptions{}); err == nil {
			return secret.Data, nil
		} else if !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) {
			return nil, err
		}
		// Another member has renewed the certificate, or an administrator has deleted the Secret: read again.
		lost = err
	}
	return nil, lost
}

func (o *Options) leaf(authority *pki.Pair, now time.Time) (*pki.Pair, error) {
	template := pki.Serving("kubizone etcd peer", o.Hosts)
	template.ExtKeyUsage = append(template.ExtKeyUsage, x509.ExtKeyUsageClientAuth)
	return pki.Issue(authority, template, now, leafLife)
}

// parse returns the authority and the certificate of the Secret, with keys. An error means that the data is missing,
// broken or of another authority.
func parse(data map[string][]byte) (authority, leaf *pki.Pair, err error) {
	if authority, err = pki.ParsePair(data[authorityCert], data[authorityKey]); err != nil {
		return nil, nil, fmt.Errorf("%s and %s: %w", authorityCert, authorityKey, err)
	}
	if leaf, err = pki.ParsePair(data[corev1.TLSCertKey], data[corev1.TLSPrivateKeyKey]); err != nil {
		return nil, nil, fmt.Errorf("%s and %s: %w", corev1.TLSCertKey, corev1.TLSPrivateKeyKey, err)
	}
	if !leaf.SignedBy(authority) {
		return nil, nil, fmt.Errorf("%s is not signed by %s", corev1.TLSCertKey, authorityCert)
	}
	return authority, leaf, nil
}

// coversHosts compares texts, because x509 verifies no wildcard in hosts.
func coversHosts(cert *x509.Certificate, hosts []string) bool {
	has := slices.Clone(cert.DNSNames)
	for _, address := range cert.IPAddresses {
		has = append(has, address.String())
	}
	return !slices.ContainsFunc(hosts, func(host string) bool { return !slices.Contains(has, host) })
}
