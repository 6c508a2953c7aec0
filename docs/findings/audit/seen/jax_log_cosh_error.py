"""optax.losses.log_cosh, jax 0.10.2, jit: outputs/0 is 70.1 times rounding off."""
import jax
import jax.numpy as jnp
import numpy as np
import optax
import base64, zlib
unpack = lambda text, kind: np.frombuffer(zlib.decompress(base64.b85decode(text)), kind).copy()
call = lambda x, y: optax.log_cosh(x, y)
x = jnp.asarray(unpack('c-kG2O-NKx7=~XJa{?<!Auz0KE;5K(2tmo*dypa|j0R;|NOWrm2}G!<7B0M?F(j4?NkI`tP?&8P6#m?EEHDe#wHpqG&?1)w89`4j4(I24|Gw`?^-f8_DXv(#PABuk$aJw^aVpgr=@IoRCp`x9DXXM5lv}aVs8PHWDZUfROh@vAkxFBc+&e4(2JC4g_mCAh1;>p1s8w>!s?>`9vXiUf{3?{s!D~U|B|Z+HYOsf#d~+m|S_MBMB^Sxohh}P&h}tS1#jMO-IN$NO6@o)^0j;Ox&Zjab@qNwx9Q6ituaa>R-UZecJ#@1-MhZH>4a50>N6{+I)B6Lww$bdy>mD;;E^a20KGJW7bqdX0^d`vj70x`%GLI8*4p19FZ#`AeZWOGs5B<-^`MyzUkG|jHnSwdW`=6}*dGhqGDL%v7do+&VSs;54v$)B;YRFM0UlTsh*e|2S9{k1MgQEw39c*u^_$QiqGS1TT7c$;P>qRQR$^3KRo>T8cGeh39)SBR5Vh+s6jgi&Dnd2Yp$=U|~2L1ddGjmTG;LLMBPR@QbrpR4}w}Ibha_#U}i=21JwukOPa!!%!8<=0bZ)X(?evxc-{O=t8<7R*Ez7k4@(Hu$t0UB!Tz5', 'float32').reshape((5, 33)), jnp.float16)
y = jnp.asarray(unpack('c-kG3Pe@fk7{!l)U@e5FP}ss|BSDc6wRj8fok2oy;i@R2$P0#4qAenV2)X!Y@km<OCR5}lE?T%~VL^m5Lqrs4fwgIOK@h<RBicNQ`uP@@Z|2N7XU_M{mAe&Ws;SB)FMXxDp!}PcxlXM(#Y&LQIB6y*TlI={&dvtKB9Yq;D&D6ui)jB^mAmX8TE#Xi_bE|!JIFO#>5EnN-KuyAcYxXl=Vz+8o2nQE>x|0Az-HmzL1*!w#jBnDCYk2&KEnPU8J>~n2Hc}~ccX20Dr%gOJ%?+?r~~x$Dv>tOJr643=1)?o7wsX|J68FimpcY;8g0!hTL;^;GA-~s$lI}hKm2#B+oIe}@DhKac}%{hL}r8huesy6lN%=M6!Y0yQ+61vpFV$~`R$ee0e_p|M=$ef<G%a=UVA+<BjkctoW}D59^^3R>9e2wtKiL1MTLAH@mRqxc$IZ}xX27%z;7knUfOssMS7UwZggeWz9$^C#d44I0PbbH$C=L~aL@cszEOFX^96JZ<f_A&BU=^BgSFD@XK<0>AnQK96*yP$X0GnSn%pIF^Us)h>Ik`cGdIY0F3QwWWs}UWO5Uf5;sp3rvi+c+YusU}L-?P-?-ZPW%=Eth4~+-ubp', 'float32').reshape((5, 33)), jnp.float16)
work = jax.jit(lambda: call(x=x, y=y))
found = work()
found = found[0] if isinstance(found, (tuple, list)) else found
found = np.asarray(found).astype(np.float64)
got, expected = float(found[(2, 30)]), float('0.005680555324252268')  # by the definition in float64
is_right = bool(abs(got - expected) < 0.000399)
print("RIGHT" if is_right else "WRONG", "got", got, "expected", expected)
raise SystemExit(not is_right)
