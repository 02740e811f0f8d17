package host

import "os"

func collectSystem(fp *Fingerprint) { collectProc(os.DirFS("/"), fp) }
