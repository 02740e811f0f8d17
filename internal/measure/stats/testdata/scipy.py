"""Reference numbers for the tests of package stats.

    python -m pip install scipy==1.17.1 statsmodels==0.15.0
    python scipy.py > scipy.json
"""
import json
import numpy as np
import scipy
import statsmodels
from scipy import stats
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.power import TTestPower, TTestIndPower
from statsmodels.stats.weightstats import ttost_paired

rng = np.random.default_rng(20241201)
out = {"scipy": scipy.__version__, "statsmodels": statsmodels.__version__}

out["one_sample"] = []
for n, mean, sd in [(2, 0.1, 0.05), (3, 0.7, 0.02), (4, 0.004, 0.01), (6, -0.03, 0.02), (12, 0.0, 0.05), (40, 0.001, 0.01)]:
    x = rng.normal(mean, sd, n)
    t = stats.ttest_1samp(x, 0)
    ci95, ci90 = t.confidence_interval(0.95), t.confidence_interval(0.90)
    tost = max(stats.ttest_1samp(x, -0.02, alternative="greater").pvalue, stats.ttest_1samp(x, 0.02, alternative="less").pvalue)
    out["one_sample"].append({"x": x.tolist(), "p": t.pvalue, "lo95": ci95.low, "hi95": ci95.high,
                              "lo90": ci90.low, "hi90": ci90.high, "tost": tost})

out["welch"] = []
for na, nb in [(3, 3), (3, 5), (8, 4), (20, 20)]:
    a, b = rng.normal(0, 0.02, na), rng.normal(0.05, 0.06, nb)
    t = stats.ttest_ind(b, a, equal_var=False)
    ci = t.confidence_interval(0.95)
    out["welch"].append({"a": a.tolist(), "b": b.tolist(), "p": t.pvalue, "df": t.df, "lo95": ci.low, "hi95": ci.high})

out["holm"] = []
for p in [[0.01], [0.04, 0.01, 0.03], [0.2, 0.001, 0.049, 0.01, 0.9], [0.02, 0.02, 0.02]]:
    out["holm"].append({"p": p, "adjusted": multipletests(p, method="holm")[1].tolist()})

out["power"] = []
for delta, df in [(0.5, 1), (3.0, 2), (2.0, 3), (4.0, 3), (2.5, 5), (3.0, 9), (2.8, 39), (0.0, 4)]:
    c = stats.t.ppf(0.975, df)
    power = stats.nct.sf(c, df, delta) + stats.nct.cdf(-c, df, delta) if delta else 0.05
    out["power"].append({"delta": delta, "df": df, "power": power})

out["blocks"] = []
for sd, effect in [(0.02, 0.02), (0.02, 0.05), (0.05, 0.05), (0.05, 0.02), (0.01, 0.02)]:
    n = TTestPower().solve_power(effect_size=effect / sd, alpha=0.05, power=0.8, alternative="two-sided")
    out["blocks"].append({"sd": sd, "effect": effect, "blocks": int(np.ceil(np.atleast_1d(n)[0]))})

out["median_ranks"] = []
for n in [5, 6, 7, 10, 13, 20, 30, 64, 101]:
    # ranks l, n+1-l with the largest l for which P(B < l) <= 2.5 %
    l = int(stats.binom.ppf(0.025, n, 0.5))
    while l > 0 and stats.binom.cdf(l - 1, n, 0.5) > 0.025:
        l -= 1
    out["median_ranks"].append({"n": n, "lo": l, "hi": n + 1 - l})

x = sorted(rng.lognormal(0, 1, 17).tolist())
out["quantile"] = {"x": x, "q": [{"p": p, "v": float(np.quantile(x, p))} for p in [0, 0.1, 0.25, 0.5, 0.9, 0.99, 1]],
                   "gmean": float(stats.gmean(x)), "sd": float(np.std(x, ddof=1))}
print(json.dumps(out, indent=1))
