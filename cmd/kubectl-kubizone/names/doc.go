// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package names has the commands of kubectl kubizone about names:
//
//	may    asks whether your namespace may have a Record, such as "may create www A"
//	names  lists the names that your namespace may use
//	who    finds the Records of a name or address
//	tree   shows the zones
//	why    follows a name from its rule to the name servers
//
// Guarantees:
//
//	N1. Requests have the rights of the user. If objects are hidden, a line names the missing right.
//	N2. The exit code is 1 if "may" answers no, "tree" or "who" finds nothing, or a link of "why" fails or waits.
//	N3. The first link of "why" that fails is printed first, with the role that can mend it and the next step.
//
// Read names.go first.
package names
