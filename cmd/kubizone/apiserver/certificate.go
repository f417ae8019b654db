// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strings"

	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"
	aggregator "k8s.io/kube-aggregator/pkg/client/clientset_generated/clientset"

	"kubi.zone/kubizone/pkg/apis/acme"
	"kubi.zone/kubizone/pkg/apiserver"
	"kubi.zone/kubizone/pkg/apiserver/serving"
)

var apiServices = []string{"v1alpha1.kubi.zone", "v1alpha1.bind9.kubi.zone"}

// findCertificate sets the serving certificate: of --tls-cert-file, self-signed, or generated and kept in the Secret of
// --serving-cert-secret. The last also writes caBundle of the APIServices.
func (o *Options) findCertificate(ctx context.Context) error {
	server := &o.SecureServing.ServerCert
	switch {
	case server.CertKey.CertFile != "":
		// Upstream reads the files, and reads them again after a change.
		return nil
	case o.ServingSecret == "":
		klog.Warning("The serving certificate is self-signed and lasts as long as this process; " +
			"name one by --tls-cert-file and --tls-private-key-file, or --serving-cert-secret")
		if err := o.SecureServing.MaybeDefaultWithSelfSignedCerts("localhost", nil, []net.IP{net.IPv4(127, 0, 0, 1)}); err != nil {
			return fmt.Errorf("serving certificate: %w", err)
		}
		return nil
	}
	cluster, err := apiserver.ClientConfig("--kubeconfig", o.CoreAPI.CoreAPIKubeconfigPath)
	if err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(cluster)
	if err != nil {
		return fmt.Errorf("--kubeconfig: %w", err)
	}
	registrations, err := aggregator.NewForConfig(cluster)
	if err != nil {
		return fmt.Errorf("--kubeconfig: %w", err)
	}
	namespace, name, _ := strings.Cut(o.ServingSecret, "/")
	// The APIService of an API that is not served would be a route to answers of 404.
	further := apiServices[1:]
	if o.ACME.Serve {
		further = append(slices.Clone(further), acme.SchemeGroupVersion.Version+"."+acme.GroupName)
	}
	provider, err := serving.New(serving.Config{
		Secrets: client.CoreV1(), APIServices: registrations.ApiregistrationV1(),
		Namespace: namespace, Secret: name, APIService: apiServices[0], Further: further,
		// The APIService may not exist yet.
		Hosts: []string{"localhost", "kubizone-apiserver." + namespace + ".svc"},
	})
	if err != nil {
		return err
	}
	// The certificate is needed before the port answers.
	if err := provider.RunOnce(ctx); err != nil {
		return fmt.Errorf("--serving-cert-secret %s: %w", o.ServingSecret, err)
	}
	server.GeneratedCert = provider
	return nil
}
