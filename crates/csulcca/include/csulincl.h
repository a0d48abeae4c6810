/* csulincl.h: what libcsulcca.so exports.
 *
 * Every parameter is a pointer. A long has 64 bits. A null pointer is refused with return code 8, reason code 184, unless
 * docs/reference/verbs.md says that it may be null; exit_data_length and exit_data are not looked at.
 */
#ifndef CSULINCL_H
#define CSULINCL_H

#ifdef __cplusplus
extern "C" {
#endif

/* Served: docs/reference/verbs.md has directions, lengths and keywords under the name that stands above each. */

/* aes-key-record-create */
void CSNBAKRC(long *return_code, long *reason_code, long *exit_data_length, unsigned char *exit_data,
    long *rule_array_count, unsigned char *rule_array, unsigned char *key_label, long *key_token_length,
    unsigned char *key_token);

/* aes-key-record-delete */
void CSNBAKRD(long *return_code, long *reason_code, long *exit_data_length, unsigned char *exit_data,
    long *rule_array_count, unsigned char *rule_array, unsigned char *key_label);

/* aes-key-record-read */
void CSNBAKRR(long *return_code, long *reason_code, long *exit_data_length, unsigned char *exit_data,
    long *rule_array_count, unsigned char *rule_array, unsigned char *key_label, long *key_token_length,
    unsigned char *key_token);

/* aes-key-record-write */
void CSNBAKRW(long *return_code, long *reason_code, long *exit_data_length, unsigned char *exit_data,
    long *rule_array_count, unsigned char *rule_array, unsigned char *key_label, long *key_token_length,
    unsigned char *key_token);

/* cvv-key-combine */
void CSNBCKC(long *return_code, long *reason_code, long *exit_data_length, unsigned char *exit_data,
    long *rule_array_count, unsigned char *rule_array, long *key_aidentifier_length, unsigned char *key_aidentifier,
    long *key_bidentifier_length, unsigned char *key_bidentifier, long *output_key_identifier_length,
    unsigned char *output_key_identifier);

/* clear-key-import */
void CSNBCKI(long *return_code, long *reason_code, long *exit_data_length, unsigned char *exit_data,
    unsigned char *clear_key, unsigned char *target_key_identifier);

/* clear-key-import-multiple */
void CSNBCKM(long *return_code, long *reason_code, long *exit_data_length, unsigned char *exit_data,
    long *rule_array_count, unsigned char *rule_array, long *clear_key_length, unsigned char *clear_key,
    unsigned char *target_key_identifier);

/* clear-pin-generate-alternate */
void CSNBCPA(long *return_code, long *reason_code, long *exit_data_length, unsigned char *exit_data,
    unsigned char *pin_encryption_key_identifier, unsigned char *pin_generation_key_identifier,
    unsigned char *pin_profile, unsigned char *pan_data, unsigned char *encrypted_pin_block, long *rule_array_count,
    unsigned char *rule_array, long *pin_check_length, unsigned char *data_array, unsigned char *returned_result);

/* clear-pin-encrypt */
void CSNBCPE(long *return_code, long *reason_code, long *exit_data_length, unsigned char *exit_data,
    unsigned char *pin_encrypting_key_identifier, long *rule_array_count, unsigned char *rule_array,
    unsigned char *clear_pin, unsigned char *pin_profile, unsigned char *pan_data, long *sequence_number,
    unsigned char *encrypted_pin_block);

/* cvv-generate */
void CSNBCSG(long *return_code, long *reason_code, long *exit_data_length, unsigned char *exit_data,
    long *rule_array_count, unsigned char *rule_array, unsigned char *pan_data, unsigned char *expiration_date,
    unsigned char *service_code, unsigned char *cvv_key_a_identifier, unsigned char *cvv_key_b_identifier,
    unsigned char *cvv_value);

/* cvv-verify */
void CSNBCSV(long *return_code, long *reason_code, long *exit_data_length, unsigned char *exit_data,
    long *rule_array_count, unsigned char *rule_array, unsigned char *pan_data, unsigned char *expiration_date,
    unsigned char *service_code, unsigned char *cvv_key_a_identifier, unsigned char *cvv_key_b_identifier,
    unsigned char *cvv_value);

/* cipher-text-translate2 */
void CSNBCTT2(long *return_code, long *reason_code, long *exit_data_length, unsigned char *exit_data,
    long *rule_array_count, unsigned char *rule_array, long *key_identifier_in_length,
    unsigned char *key_identifier_in, long *init_vector_in_length, unsigned char *init_vector_in,
    long *cipher_text_in_length, unsigned char *cipher_text_in, long *chaining_vector_length,
    unsigned char *chaining_vector, long *key_identifier_out_length, unsigned char *key_identifier_out,
    long *init_vector_out_length, unsigned char *init_vector_out, long *cipher_text_out_length,
    unsigned char *cipher_text_out, long *reserved1_length, unsigned char *reserved1, long *reserved2_length,
    unsigned char *reserved2);

/* cryptographic-variable-encipher */
void CSNBCVE(long *return_code, long *reason_code, long *exit_data_length, unsigned char *exit_data,
    unsigned char *cvarenc_key_id, long *text_length, unsigned char *plain_text, unsigned char *init_vector,
    unsigned char *cipher_text);

/* control-vector-generate */
void CSNBCVG(long *return_code, long *reason_code, long *exit_data_length, unsigned char *exit_data,
    unsigned char *key_type, long *rule_array_count, unsigned char *rule_array, unsigned char *reserved_field_1,
    unsigned char *control_vector);

/* derive-icc-mk */
void CSNBDCM(long *return_code, long *reason_code, long *exit_data_length, unsigned char *exit_data,
    long *rule_array_count, unsigned char *rule_array, long *issuer_master_key_identifier_length,
    unsigned char *issuer_master_key_identifier, long *icc_master_key_identifier_length,
    unsigned char *icc_master_key_identifier, long *transport_key_identifier_length,
    unsigned char *transport_key_identifier, long *pan_length, unsigned char *pan, unsigned char *pan_seq_number,
    long *reserved1_length, unsigned char *reserved1, long *reserved2_length, unsigned char *reserved2);

/* decipher */
void CSNBDEC(long *return_code, long *reason_code, long *exit_data_length, unsigned char *exit_data,
    unsigned char *key_identifier, long *text_length, unsigned char *ciphertext, unsigned char *initialization_vector,
    long *rule_array_count, unsigned char *rule_array, unsigned char *chaining_vector, unsigned char *plaintext);

/* diversified-key-generate */
void CSNBDKG(long *return_code, long *reason_code, long *exit_data_length, unsigned char *exit_data,
    long *rule_array_count, unsigned char *rule_array, unsigned char *generating_key_id, long *data_length,
    unsigned char *data, unsigned char *decrypting_key_id, unsigned char *generated_key_id);

/* diversified-key-generate2 */
void CSNBDKG2(long *return_code, long *reason_code, long *exit_data_length, unsigned char *exit_data,
    long *rule_array_count, unsigned char *rule_array, long *generating_key_id_length,
    unsigned char *generating_key_id, long *derivation_data_length, unsigned char *derivation_data,
    long *reserved1_length, unsigned char *reserved1, long *reserved2_length, unsigned char *reserved2,
    long *generated_key_id1_length, unsigned char *generated_key_id1, long *generated_key_id2_length,
    unsigned char *generated_key_id2);

/* data-key-import */
void CSNBDKM(long *return_code, long *reason_code, long *exit_data_length, unsigned char *exit_data,
    unsigned char *source_key_token, unsigned char *importer_key_identifier, unsigned char *target_key_identifier);

/* data-key-export */
void CSNBDKX(long *return_code, long *reason_code, long *exit_data_length, unsigned char *exit_data,
    unsigned char *source_key_identifier, unsigned char *exporter_key_identifier, unsigned char *target_key_token);

/* emv-transaction */
void CSNBEAC(long *return_code, long *reason_code, long *exit_data_length, unsigned char *exit_data,
    long *rule_array_count, unsigned char *rule_array, long *issuer_master_key_identifier_length,
    unsigned char *issuer_master_key_identifier, long *issuer_arpc_master_key_identifier_length,
    unsigned char *issuer_arpc_master_key_identifier, long *pan_length, unsigned char *pan,
    unsigned char *pan_seq_number, long *cryptogram_info_length, unsigned char *cryptogram_info, unsigned char *atc,
    unsigned char *arc, unsigned char *arqc, unsigned char *arpc, unsigned char *unpredictable_number,
    long *reserved1_length, unsigned char *reserved1, long *reserved2_length, unsigned char *reserved2);

/* encipher */
void CSNBENC(long *return_code, long *reason_code, long *exit_data_length, unsigned char *exit_data,
    unsigned char *key_identifier, long *text_length, unsigned char *plaintext, unsigned char *initialization_vector,
    long *rule_array_count, unsigned char *rule_array, long *pad_character, unsigned char *chaining_vector,
    unsigned char *ciphertext);

/* encrypted-pin-generate */
void CSNBEPG(long *return_code, long *reason_code, long *exit_data_length, unsigned char *exit_data,
    unsigned char *pin_generating_key_identifier, unsigned char *outbound_pin_encrypting_key_identifier,
    long *rule_array_count, unsigned char *rule_array, long *pin_length, unsigned char *data_array,
    unsigned char *pin_profile, unsigned char *pan_data, long *sequence_number, unsigned char *encrypted_pin_block);

/* format-preserving-decipher */
void CSNBFFXD(long *return_code, long *reason_code, long *exit_data_length, unsigned char *exit_data,
    long *rule_array_count, unsigned char *rule_array, long *key_identifier_length, unsigned char *key_identifier,
    long *tweak_length, unsigned char *tweak, long *tweak_alphabet_length, unsigned char *tweak_alphabet,
    long *alphabet_length, unsigned char *alphabet, long *ciphertext_length, unsigned char *ciphertext,
    long *reserved1_length, unsigned char *reserved1, long *reserved2_length, unsigned char *reserved2,
    long *plaintext_length, unsigned char *plaintext);

/* format-preserving-encipher */
void CSNBFFXE(long *return_code, long *reason_code, long *exit_data_length, unsigned char *exit_data,
    long *rule_array_count, unsigned char *rule_array, long *key_identifier_length, unsigned char *key_identifier,
    long *tweak_length, unsigned char *tweak, long *tweak_alphabet_length, unsigned char *tweak_alphabet,
    long *alphabet_length, unsigned char *alphabet, long *plaintext_length, unsigned char *plaintext,
    long *reserved1_length, unsigned char *reserved1, long *reserved2_length, unsigned char *reserved2,
    long *ciphertext_length, unsigned char *ciphertext);

/* format-preserving-translate */
void CSNBFFXT(long *return_code, long *reason_code, long *exit_data_length, unsigned char *exit_data,
    long *rule_array_count, unsigned char *rule_array, long *input_key_identifier_length,
    unsigned char *input_key_identifier, long *output_key_identifier_length, unsigned char *output_key_identifier,
    long *input_tweak_length, unsigned char *input_tweak, long *input_tweak_alphabet_length,
    unsigned char *input_tweak_alphabet, long *input_alphabet_length, unsigned char *input_alphabet,
    long *output_tweak_length, unsigned char *output_tweak, long *output_tweak_alphabet_length,
    unsigned char *output_tweak_alphabet, long *output_alphabet_length, unsigned char *output_alphabet,
    long *reserved1_length, unsigned char *reserved1, long *reserved2_length, unsigned char *reserved2,
    long *ciphertext_length, unsigned char *ciphertext);

/* hmac-generate */
void CSNBHMG(long *return_code, long *reason_code, long *exit_data_length, unsigned char *exit_data,
    long *rule_array_count, unsigned char *rule_array, long *key_identifier_length, unsigned char *key_identifier,
    long *message_text_length, unsigned char *message_text, long *chaining_vector_length,
    unsigned char *chaining_vector, long *mac_length, unsigned char *mac_text);

/* hmac-verify */
void CSNBHMV(long *return_code, long *reason_code, long *exit_data_length, unsigned char *exit_data,
    long *rule_array_count, unsigned char *rule_array, long *key_identifier_length, unsigned char *key_identifier,
    long *message_text_length, unsigned char *message_text, long *chaining_vector_length,
    unsigned char *chaining_vector, long *mac_length, unsigned char *mac_text);

/* key-encryption-translate */
void CSNBKET(long *return_code, long *reason_code, long *exit_data_length, unsigned char *exit_data,
    long *rule_array_count, unsigned char *rule_array, long *kek_identifier_length, unsigned char *kek_identifier,
    long *key_in_length, unsigned char *key_in, long *key_out_length, unsigned char *key_out);

/* key-export */
void CSNBKEX(long *return_code, long *reason_code, long *exit_data_length, unsigned char *exit_data,
    unsigned char *key_type, unsigned char *source_key_identifier, unsigned char *exporter_key_identifier,
    unsigned char *target_key_token);

/* key-generate */
void CSNBKGN(long *return_code, long *reason_code, long *exit_data_length, unsigned char *exit_data,
    unsigned char *key_form, unsigned char *key_length, unsigned char *key_type_1, unsigned char *key_type_2,
    unsigned char *kek_key_identifier_1, unsigned char *kek_key_identifier_2,
    unsigned char *generated_key_identifier_1, unsigned char *generated_key_identifier_2);

/* key-generate2 */
void CSNBKGN2(long *return_code, long *reason_code, long *exit_data_length, unsigned char *exit_data,
    long *rule_array_count, unsigned char *rule_array, long *clear_key_bit_length, unsigned char *key_type_1,
    unsigned char *key_type_2, long *key_name_1_length, unsigned char *key_name_1, long *key_name_2_length,
    unsigned char *key_name_2, long *user_associated_data_1_length, unsigned char *user_associated_data_1,
    long *user_associated_data_2_length, unsigned char *user_associated_data_2, long *kek_key_identifier_1_length,
    unsigned char *kek_key_identifier_1, long *kek_key_identifier_2_length, unsigned char *kek_key_identifier_2,
    long *generated_key_identifier_1_length, unsigned char *generated_key_identifier_1,
    long *generated_key_identifier_2_length, unsigned char *generated_key_identifier_2);

/* key-import */
void CSNBKIM(long *return_code, long *reason_code, long *exit_data_length, unsigned char *exit_data,
    unsigned char *key_type, unsigned char *source_key_token, unsigned char *importer_key_identifier,
    unsigned char *target_key_identifier);

/* key-part-import */
void CSNBKPI(long *return_code, long *reason_code, long *exit_data_length, unsigned char *exit_data,
    long *rule_array_count, unsigned char *rule_array, unsigned char *key_part, unsigned char *key_identifier);

/* key-part-import2 */
void CSNBKPI2(long *return_code, long *reason_code, long *exit_data_length, unsigned char *exit_data,
    long *rule_array_count, unsigned char *rule_array, long *clear_key_part_length, unsigned char *clear_key_part,
    long *key_identifier_length, unsigned char *key_identifier);

/* des-key-record-create */
void CSNBKRC(long *return_code, long *reason_code, long *exit_data_length, unsigned char *exit_data,
    unsigned char *key_label);

/* des-key-record-delete */
void CSNBKRD(long *return_code, long *reason_code, long *exit_data_length, unsigned char *exit_data,
    long *rule_array_count, unsigned char *rule_array, unsigned char *key_identifier);

/* des-key-record-read */
void CSNBKRR(long *return_code, long *reason_code, long *exit_data_length, unsigned char *exit_data,
    unsigned char *key_label, unsigned char *key_token);

/* des-key-record-write */
void CSNBKRW(long *return_code, long *reason_code, long *exit_data_length, unsigned char *exit_data,
    unsigned char *key_token, unsigned char *key_label);

/* key-token-build */
void CSNBKTB(long *return_code, long *reason_code, long *exit_data_length, unsigned char *exit_data,
    unsigned char *key_token, unsigned char *key_type, long *rule_array_count, unsigned char *rule_array,
    unsigned char *key_value, unsigned char *reserved_field_1, long *reserved_field_2,
    unsigned char *reserved_field_3, unsigned char *control_vector, unsigned char *reserved_field_4,
    long *reserved_field_5, unsigned char *reserved_field_6, unsigned char *master_key_verification_number);

/* key-token-build2 */
void CSNBKTB2(long *return_code, long *reason_code, long *exit_data_length, unsigned char *exit_data,
    long *rule_array_count, unsigned char *rule_array, long *clear_key_bit_length, unsigned char *clear_key_value,
    long *key_name_length, unsigned char *key_name, long *user_associated_data_length,
    unsigned char *user_associated_data, long *token_data_length, unsigned char *token_data, long *reserved_length,
    unsigned char *reserved, long *target_key_token_length, unsigned char *target_key_token);

/* key-token-change */
void CSNBKTC(long *return_code, long *reason_code, long *exit_data_length, unsigned char *exit_data,
    long *rule_array_count, unsigned char *rule_array, unsigned char *key_identifier);

/* key-token-change2 */
void CSNBKTC2(long *return_code, long *reason_code, long *exit_data_length, unsigned char *exit_data,
    long *rule_array_count, unsigned char *rule_array, long *key_identifier_length, unsigned char *key_identifier);

/* key-token-parse */
void CSNBKTP(long *return_code, long *reason_code, long *exit_data_length, unsigned char *exit_data,
    unsigned char *key_token, unsigned char *key_type, long *rule_array_count, unsigned char *rule_array,
    unsigned char *key_value, unsigned char *master_key_verification_pattern_v03, long *reserved_field_2,
    unsigned char *reserved_field_3, unsigned char *control_vector, unsigned char *reserved_field_4,
    long *reserved_field_5, unsigned char *reserved_field_6, unsigned char *master_key_verification_pattern_v00);

/* key-token-parse2 */
void CSNBKTP2(long *return_code, long *reason_code, long *exit_data_length, unsigned char *exit_data,
    long *key_token_length, unsigned char *key_token, unsigned char *key_type, long *rule_array_count,
    unsigned char *rule_array, long *key_material_state, long *payload_bit_length, unsigned char *payload,
    long *key_verification_type, long *key_verification_pattern_length, unsigned char *key_verification_pattern,
    long *key_wrapping_method, long *key_hash_method, long *key_name_length, unsigned char *key_name,
    long *tlvdata_length, unsigned char *tlvdata, long *user_assoc_data_length, unsigned char *user_assoc_data,
    long *reserved_length, unsigned char *reserved);

/* key-translate */
void CSNBKTR(long *return_code, long *reason_code, long *exit_data_length, unsigned char *exit_data,
    unsigned char *input_key_token, unsigned char *input_kek_key_identifier, unsigned char *output_kek_key_identifier,
    unsigned char *output_key_token);

/* key-translate2 */
void CSNBKTR2(long *return_code, long *reason_code, long *exit_data_length, unsigned char *exit_data,
    long *rule_array_count, unsigned char *rule_array, long *input_key_token_length, unsigned char *input_key_token,
    long *input_kek_key_identifier_length, unsigned char *input_kek_key_identifier,
    long *output_kek_key_identifier_length, unsigned char *output_kek_key_identifier, long *output_key_token_length,
    unsigned char *output_key_token);

/* key-test */
void CSNBKYT(long *return_code, long *reason_code, long *exit_data_length, unsigned char *exit_data,
    long *rule_array_count, unsigned char *rule_array, unsigned char *key_identifier, unsigned char *value_1,
    unsigned char *value_2);

/* key-test2 */
void CSNBKYT2(long *return_code, long *reason_code, long *exit_data_length, unsigned char *exit_data,
    long *rule_array_count, unsigned char *rule_array, long *key_identifier_length, unsigned char *key_identifier,
    long *kek_key_identifier_length, unsigned char *kek_key_identifier, long *reserved_length,
    unsigned char *reserved, long *verification_pattern_length, unsigned char *verification_pattern);

/* key-test-extended */
void CSNBKYTX(long *return_code, long *reason_code, long *exit_data_length, unsigned char *exit_data,
    long *rule_array_count, unsigned char *rule_array, unsigned char *key_identifier, unsigned char *random_number,
    unsigned char *verification_pattern, unsigned char *kek_key_identifier);

/* mdc-generate */
void CSNBMDG(long *return_code, long *reason_code, long *exit_data_length, unsigned char *exit_data,
    long *text_length, unsigned char *text_data, long *rule_array_count, unsigned char *rule_array,
    unsigned char *chaining_vector, unsigned char *mdc);

/* mac-generate */
void CSNBMGN(long *return_code, long *reason_code, long *exit_data_length, unsigned char *exit_data,
    unsigned char *key_identifier, long *text_length, unsigned char *text, long *rule_array_count,
    unsigned char *rule_array, unsigned char *chaining_vector, unsigned char *mac);

/* mac-generate2 */
void CSNBMGN2(long *return_code, long *reason_code, long *exit_data_length, unsigned char *exit_data,
    long *rule_array_count, unsigned char *rule_array, long *key_identifier_length, unsigned char *key_identifier,
    long *message_text_length, unsigned char *message_text, long *chaining_vector_length,
    unsigned char *chaining_vector, long *mac_length, unsigned char *mac_text);

/* mac-verify */
void CSNBMVR(long *return_code, long *reason_code, long *exit_data_length, unsigned char *exit_data,
    unsigned char *key_identifier, long *text_length, unsigned char *text, long *rule_array_count,
    unsigned char *rule_array, unsigned char *chaining_vector, unsigned char *mac);

/* mac-verify2 */
void CSNBMVR2(long *return_code, long *reason_code, long *exit_data_length, unsigned char *exit_data,
    long *rule_array_count, unsigned char *rule_array, long *key_identifier_length, unsigned char *key_identifier,
    long *message_text_length, unsigned char *message_text, long *chaining_vector_length,
    unsigned char *chaining_vector, long *mac_length, unsigned char *mac_text);

/* one-way-hash */
void CSNBOWH(long *return_code, long *reason_code, long *exit_data_length, unsigned char *exit_data,
    long *rule_array_count, unsigned char *rule_array, long *text_length, unsigned char *text,
    long *chaining_vector_length, unsigned char *chaining_vector, long *hash_length, unsigned char *hash);

/* pin-change-unblock */
void CSNBPCU(long *return_code, long *reason_code, long *exit_data_length, unsigned char *exit_data,
    long *rule_array_count, unsigned char *rule_array, long *authentication_master_key_length,
    unsigned char *authentication_master_key, long *issuer_master_key_length, unsigned char *issuer_master_key,
    long *key_generation_data_length, unsigned char *key_generation_data, long *new_ref_pin_key_length,
    unsigned char *new_ref_pin_key, unsigned char *new_ref_pin_block, unsigned char *new_ref_pin_profile,
    unsigned char *new_ref_pan_data, long *current_ref_pin_key_length, unsigned char *current_ref_pin_key,
    unsigned char *current_ref_pin_block, unsigned char *current_ref_pin_profile, unsigned char *current_ref_pan_data,
    long *output_pin_data_length, unsigned char *output_pin_data, unsigned char *output_pin_profile,
    long *output_pin_message_length, unsigned char *output_pin_message);

/* prohibit-export */
void CSNBPEX(long *return_code, long *reason_code, long *exit_data_length, unsigned char *exit_data,
    unsigned char *key_identifier);

/* prohibit-export2 */
void CSNBPEX2(long *return_code, long *reason_code, long *exit_data_length, unsigned char *exit_data,
    long *rule_array_count, unsigned char *rule_array, long *key_identifier_length, unsigned char *key_identifier,
    long *kek_key_identifier_length, unsigned char *kek_key_identifier);

/* prohibit-export-extended */
void CSNBPEXX(long *return_code, long *reason_code, long *exit_data_length, unsigned char *exit_data,
    unsigned char *source_key_token, unsigned char *kek_key_identifier);

/* recover-pin-from-offset */
void CSNBPFO(long *return_code, long *reason_code, long *exit_data_length, unsigned char *exit_data,
    long *rule_array_count, unsigned char *rule_array, long *pin_enc_key_id_length, unsigned char *pin_enc_key_id,
    long *pin_gen_key_id_length, unsigned char *pin_gen_key_id, unsigned char *pin_profile, unsigned char *pan_data,
    unsigned char *offset, long *reserved_1, unsigned char *data_array, long *encrypted_pin_blk_length,
    unsigned char *encrypted_pin_blk);

/* clear-pin-generate */
void CSNBPGN(long *return_code, long *reason_code, long *exit_data_length, unsigned char *exit_data,
    unsigned char *pin_generating_key_identifier, long *rule_array_count, unsigned char *rule_array, long *pin_length,
    long *pin_check_length, unsigned char *data_array, unsigned char *returned_result);

/* encrypted-pin-translate */
void CSNBPTR(long *return_code, long *reason_code, long *exit_data_length, unsigned char *exit_data,
    unsigned char *input_pin_encrypting_key_identifier, unsigned char *output_pin_encrypting_key_identifier,
    unsigned char *input_pin_profile, unsigned char *pan_data_in, unsigned char *pin_block_in, long *rule_array_count,
    unsigned char *rule_array, unsigned char *output_pin_profile, unsigned char *pan_data_out, long *sequence_number,
    unsigned char *pin_block_out);

/* encrypted-pin-translate2 */
void CSNBPTR2(long *return_code, long *reason_code, long *exit_data_length, unsigned char *exit_data,
    long *rule_array_count, unsigned char *rule_array, long *input_pin_encrypting_key_identifier_length,
    unsigned char *input_pin_encrypting_key_identifier, long *output_pin_encrypting_key_identifier_length,
    unsigned char *output_pin_encrypting_key_identifier, long *authentication_key_identifier_length,
    unsigned char *authentication_key_identifier, long *input_pin_profile_length, unsigned char *input_pin_profile,
    long *input_pan_data_length, unsigned char *input_pan_data, long *input_pin_block_length,
    unsigned char *input_pin_block, long *output_pin_profile_length, unsigned char *output_pin_profile,
    long *output_pan_data_length, unsigned char *output_pan_data, long *authentication_data_length,
    unsigned char *authentication_data, long *output_pin_block_length, unsigned char *output_pin_block,
    long *reserved1_length, unsigned char *reserved1, long *reserved2_length, unsigned char *reserved2,
    long *reserved3_length, unsigned char *reserved3);

/* encrypted-pin-verify */
void CSNBPVR(long *return_code, long *reason_code, long *exit_data_length, unsigned char *exit_data,
    unsigned char *input_pin_encrypting_key_identifier, unsigned char *pin_verifying_key_identifier,
    unsigned char *input_pin_profile, unsigned char *pan_data, unsigned char *encrypted_pin_block,
    long *rule_array_count, unsigned char *rule_array, long *pin_check_length, unsigned char *data_array);

/* encrypted-pin-verify2 */
void CSNBPVR2(long *return_code, long *reason_code, long *exit_data_length, unsigned char *exit_data,
    long *rule_array_count, unsigned char *rule_array, long *reference_pin_rule_array_count,
    unsigned char *reference_pin_rule_array, long *pin_check_length, long *input_pin_encrypting_key_identifier_length,
    unsigned char *input_pin_encrypting_key_identifier, long *reference_pin_encrypting_key_identifier_length,
    unsigned char *reference_pin_encrypting_key_identifier, long *input_pin_profile_length,
    unsigned char *input_pin_profile, long *input_pin_block_length, unsigned char *input_pin_block,
    long *reference_pin_profile_length, unsigned char *reference_pin_profile, long *reference_pin_block_length,
    unsigned char *reference_pin_block, unsigned char *input_pan_data, unsigned char *reference_pan_data,
    long *reserved1_length, unsigned char *reserved1, long *reserved2_length, unsigned char *reserved2,
    long *reserved3_length, unsigned char *reserved3, long *reserved4_length, unsigned char *reserved4);

/* restrict-key-attribute */
void CSNBRKA(long *return_code, long *reason_code, long *exit_data_length, unsigned char *exit_data,
    long *rule_array_count, unsigned char *rule_array, long *key_identifier_length, unsigned char *key_identifier,
    long *kek_key_identifier_length, unsigned char *kek_key_identifier, long *opt_parameter1_length,
    unsigned char *opt_parameter1, long *opt_parameter2_length, unsigned char *opt_parameter2);

/* random-number-generate */
void CSNBRNG(long *return_code, long *reason_code, long *exit_data_length, unsigned char *exit_data,
    unsigned char *form, unsigned char *random_number);

/* random-number-generate-long */
void CSNBRNGL(long *return_code, long *reason_code, long *exit_data_length, unsigned char *exit_data,
    long *rule_array_count, unsigned char *rule_array, long *reserved_length, unsigned char *reserved,
    long *random_number_length, unsigned char *random_number);

/* symmetric-algorithm-decipher */
void CSNBSAD(long *return_code, long *reason_code, long *exit_data_length, unsigned char *exit_data,
    long *rule_array_count, unsigned char *rule_array, long *key_length, unsigned char *key_identifier,
    long *key_parms_length, unsigned char *key_parms, long *block_size, long *initialization_vector_length,
    unsigned char *initialization_vector, long *chain_data_length, unsigned char *chain_data,
    long *cipher_text_length, unsigned char *cipher_text, long *clear_text_length, unsigned char *clear_text,
    long *optional_data_length, unsigned char *optional_data);

/* symmetric-algorithm-encipher */
void CSNBSAE(long *return_code, long *reason_code, long *exit_data_length, unsigned char *exit_data,
    long *rule_array_count, unsigned char *rule_array, long *key_length, unsigned char *key_identifier,
    long *key_parms_length, unsigned char *key_parms, long *block_size, long *initialization_vector_length,
    unsigned char *initialization_vector, long *chain_data_length, unsigned char *chain_data, long *clear_text_length,
    unsigned char *clear_text, long *cipher_text_length, unsigned char *cipher_text, long *optional_data_length,
    unsigned char *optional_data);

/* secure-messaging-for-keys */
void CSNBSKY(long *return_code, long *reason_code, long *exit_data_length, unsigned char *exit_data,
    long *rule_array_count, unsigned char *rule_array, unsigned char *input_key_identifier,
    unsigned char *key_encrypting_key, unsigned char *session_key, long *text_length, unsigned char *clear_text,
    unsigned char *initialization_vector, long *key_offset, long *key_offset_field_length, unsigned char *cipher_text,
    unsigned char *output_chaining_value);

/* secure-messaging-for-pins */
void CSNBSPN(long *return_code, long *reason_code, long *exit_data_length, unsigned char *exit_data,
    long *rule_array_count, unsigned char *rule_array, unsigned char *in_pin_blk, unsigned char *in_pin_enc_key_id,
    unsigned char *in_pin_profile, unsigned char *in_pan_data, unsigned char *secmsg_key,
    unsigned char *out_pin_profile, unsigned char *out_pan_data, long *text_length, unsigned char *clear_text,
    unsigned char *initialization_vector, long *pin_offset, long *pin_offset_field_length, unsigned char *cipher_text,
    unsigned char *output_chaining_value);

/* tr31-key-import */
void CSNBT31I(long *return_code, long *reason_code, long *exit_data_length, unsigned char *exit_data,
    long *rule_array_count, unsigned char *rule_array, long *tr31_key_block_length, unsigned char *tr31_key_block,
    long *unwrap_kek_identifier_length, unsigned char *unwrap_kek_identifier, long *wrap_kek_identifier_length,
    unsigned char *wrap_kek_identifier, long *output_key_identifier_length, unsigned char *output_key_identifier,
    long *num_opt_blks, long *cv_source, long *protection_method);

/* tr31-optional-data-build */
void CSNBT31O(long *return_code, long *reason_code, long *exit_data_length, unsigned char *exit_data,
    long *rule_array_count, unsigned char *rule_array, long *opt_blocks_bfr_length, long *opt_blocks_length,
    unsigned char *opt_blocks, long *num_opt_blocks, unsigned char *opt_block_id, long *opt_block_data_length,
    unsigned char *opt_block_data);

/* tr31-key-token-parse */
void CSNBT31P(long *return_code, long *reason_code, long *exit_data_length, unsigned char *exit_data,
    long *rule_array_count, unsigned char *rule_array, long *tr31_key_length, unsigned char *tr31_key,
    unsigned char *key_block_version, long *key_block_length, unsigned char *key_usage, unsigned char *algorithm,
    unsigned char *mode, unsigned char *key_version_number, unsigned char *exportability, long *num_opt_blocks);

/* tr31-optional-data-read */
void CSNBT31R(long *return_code, long *reason_code, long *exit_data_length, unsigned char *exit_data,
    long *rule_array_count, unsigned char *rule_array, long *tr31_key_length, unsigned char *tr31_key,
    unsigned char *opt_block_id, long *num_opt_blocks, unsigned char *opt_block_ids, unsigned char *opt_block_lengths,
    long *opt_block_data_length, unsigned char *opt_block_data);

/* tr31-key-export */
void CSNBT31X(long *return_code, long *reason_code, long *exit_data_length, unsigned char *exit_data,
    long *rule_array_count, unsigned char *rule_array, unsigned char *key_version_number, long *key_field_length,
    long *source_key_identifier_length, unsigned char *source_key_identifier, long *unwrap_kek_identifier_length,
    unsigned char *unwrap_kek_identifier, long *wrap_kek_identifier_length, unsigned char *wrap_kek_identifier,
    long *opt_blks_length, unsigned char *opt_blks, long *tr31_key_block_length, unsigned char *tr31_key_block);

/* transaction-validation */
void CSNBTRV(long *return_code, long *reason_code, long *exit_data_length, unsigned char *exit_data,
    long *rule_array_count, unsigned char *rule_array, long *transaction_key_length, unsigned char *transaction_key,
    long *transaction_info_length, unsigned char *transaction_info, long *validation_values_length,
    unsigned char *validation_values);

/* unique-key-derive */
void CSNBUKD(long *return_code, long *reason_code, long *exit_data_length, unsigned char *exit_data,
    long *rule_array_count, unsigned char *rule_array, long *base_derivation_key_identifier_length,
    unsigned char *base_derivation_key_identifier, long *derivation_data_length, unsigned char *derivation_data,
    long *generated_key_identifier1_length, unsigned char *generated_key_identifier1,
    long *generated_key_identifier2_length, unsigned char *generated_key_identifier2,
    long *generated_key_identifier3_length, unsigned char *generated_key_identifier3,
    long *transport_key_identifier_length, unsigned char *transport_key_identifier, long *reserved2_length,
    unsigned char *reserved2, long *reserved3_length, unsigned char *reserved3, long *reserved4_length,
    unsigned char *reserved4, long *reserved5_length, unsigned char *reserved5, long *reserved6_length,
    unsigned char *reserved6);

/* code-conversion */
void CSNBXEA(long *return_code, long *reason_code, long *exit_data_length, unsigned char *exit_data,
    long *rule_array_count, unsigned char *rule_array, long *text_length, unsigned char *source_text,
    unsigned char *target_text, long *code_table_length, unsigned char *code_table);

/* digital-signature-generate */
void CSNDDSG(long *return_code, long *reason_code, long *exit_data_length, unsigned char *exit_data,
    long *rule_array_count, unsigned char *rule_array, long *pka_private_key_id_length,
    unsigned char *pka_private_key_id, long *hash_length, unsigned char *hash, long *signature_field_length,
    long *signature_bit_length, unsigned char *signature_field);

/* digital-signature-verify */
void CSNDDSV(long *return_code, long *reason_code, long *exit_data_length, unsigned char *exit_data,
    long *rule_array_count, unsigned char *rule_array, long *pka_public_key_id_length,
    unsigned char *pka_public_key_id, long *hash_length, unsigned char *hash, long *signature_field_length,
    unsigned char *signature_field);

/* ec-diffie-hellman */
void CSNDEDH(long *return_code, long *reason_code, long *exit_data_length, unsigned char *exit_data,
    long *rule_array_count, unsigned char *rule_array, long *private_key_identifier_length,
    unsigned char *private_key_identifier, long *private_kek_key_identifier_length,
    unsigned char *private_kek_key_identifier, long *public_key_identifier_length,
    unsigned char *public_key_identifier, long *chaining_vector_length, unsigned char *chaining_vector,
    long *party_identifier_length, unsigned char *party_identifier, long *key_bit_length, long *reserved_length,
    unsigned char *reserved, long *reserved2_length, unsigned char *reserved2, long *reserved3_length,
    unsigned char *reserved3, long *reserved4_length, unsigned char *reserved4, long *reserved5_length,
    unsigned char *reserved5, long *output_kek_key_identifier_length, unsigned char *output_kek_key_identifier,
    long *output_key_identifier_length, unsigned char *output_key_identifier);

/* pka-key-record-create */
void CSNDKRC(long *return_code, long *reason_code, long *exit_data_length, unsigned char *exit_data,
    long *rule_array_count, unsigned char *rule_array, unsigned char *key_label, long *key_token_length,
    unsigned char *key_token);

/* pka-key-record-delete */
void CSNDKRD(long *return_code, long *reason_code, long *exit_data_length, unsigned char *exit_data,
    long *rule_array_count, unsigned char *rule_array, unsigned char *key_identifier);

/* pka-key-record-read */
void CSNDKRR(long *return_code, long *reason_code, long *exit_data_length, unsigned char *exit_data,
    long *rule_array_count, unsigned char *rule_array, unsigned char *key_label, long *key_token_length,
    unsigned char *key_token);

/* pka-key-record-write */
void CSNDKRW(long *return_code, long *reason_code, long *exit_data_length, unsigned char *exit_data,
    long *rule_array_count, unsigned char *rule_array, unsigned char *key_label, long *key_token_length,
    unsigned char *key_token);

/* pka-key-token-change */
void CSNDKTC(long *return_code, long *reason_code, long *exit_data_length, unsigned char *exit_data,
    long *rule_array_count, unsigned char *rule_array, long *key_identifier_length, unsigned char *key_identifier);

/* pka-key-token-build */
void CSNDPKB(long *return_code, long *reason_code, long *exit_data_length, unsigned char *exit_data,
    long *rule_array_count, unsigned char *rule_array, long *key_values_structure_length,
    unsigned char *key_values_structure, long *key_name_ln, unsigned char *key_name, long *customer_data_length,
    unsigned char *customer_data, long *key_derivation_data_length, unsigned char *key_derivation_data,
    long *reserved_3_length, unsigned char *reserved_3, long *reserved_4_length, unsigned char *reserved_4,
    long *reserved_5_length, unsigned char *reserved_5, long *token_length, unsigned char *token);

/* pka-decrypt */
void CSNDPKD(long *return_code, long *reason_code, long *exit_data_length, unsigned char *exit_data,
    long *rule_array_count, unsigned char *rule_array, long *enciphered_key_length, unsigned char *enciphered_key,
    long *data_struct_length, unsigned char *data_struct, long *rsa_private_key_length,
    unsigned char *rsa_private_key, long *key_value_length, unsigned char *key_value);

/* pka-encrypt */
void CSNDPKE(long *return_code, long *reason_code, long *exit_data_length, unsigned char *exit_data,
    long *rule_array_count, unsigned char *rule_array, long *key_value_length, unsigned char *key_value,
    long *data_struct_length, unsigned char *data_struct, long *rsa_public_key_length, unsigned char *rsa_public_key,
    long *rsa_encipher_length, unsigned char *rsa_encipher);

/* pka-key-generate */
void CSNDPKG(long *return_code, long *reason_code, long *exit_data_length, unsigned char *exit_data,
    long *rule_array_count, unsigned char *rule_array, long *regeneration_data_length,
    unsigned char *regeneration_data, long *skeleton_key_token_length, unsigned char *skeleton_key_token,
    unsigned char *transport_key_identifier, long *generated_key_identifier_length,
    unsigned char *generated_key_identifier);

/* pka-key-import */
void CSNDPKI(long *return_code, long *reason_code, long *exit_data_length, unsigned char *exit_data,
    long *rule_array_count, unsigned char *rule_array, long *source_key_token_length, unsigned char *source_key_token,
    unsigned char *importer_key_identifier, long *target_key_identifier_length,
    unsigned char *target_key_identifier);

/* pka-key-translate */
void CSNDPKT(long *return_code, long *reason_code, long *exit_data_length, unsigned char *exit_data,
    long *rule_array_count, unsigned char *rule_array, long *source_key_identifier_length,
    unsigned char *source_key_identifier, long *source_transport_key_identifier_length,
    unsigned char *source_transport_key_identifier, long *target_transport_key_identifier_length,
    unsigned char *target_transport_key_identifier, long *target_key_token_length, unsigned char *target_key_token);

/* pka-public-key-extract */
void CSNDPKX(long *return_code, long *reason_code, long *exit_data_length, unsigned char *exit_data,
    long *rule_array_count, unsigned char *rule_array, long *source_key_identifier_length,
    unsigned char *source_key_identifier, long *target_key_token_length, unsigned char *target_key_token);

/* symmetric-key-generate */
void CSNDSYG(long *return_code, long *reason_code, long *exit_data_length, unsigned char *exit_data,
    long *rule_array_count, unsigned char *rule_array, unsigned char *key_encrypting_key, long *rsapub_key_length,
    unsigned char *rsapub_key, long *locenc_key_length, unsigned char *locenc_key, long *rsaenc_key_length,
    unsigned char *rsaenc_key);

/* symmetric-key-import */
void CSNDSYI(long *return_code, long *reason_code, long *exit_data_length, unsigned char *exit_data,
    long *rule_array_count, unsigned char *rule_array, long *rsa_enciphered_key_length,
    unsigned char *rsa_enciphered_key, long *rsa_private_key_identifier_len,
    unsigned char *rsa_private_key_identifier, long *target_key_identifier_length,
    unsigned char *target_key_identifier);

/* symmetric-key-import2 */
void CSNDSYI2(long *return_code, long *reason_code, long *exit_data_length, unsigned char *exit_data,
    long *rule_array_count, unsigned char *rule_array, long *rsa_enciphered_key_length,
    unsigned char *rsa_enciphered_key, long *rsa_private_key_identifier_length,
    unsigned char *rsa_private_key_identifier, long *user_mod_data_length, unsigned char *user_mod_data,
    long *target_key_identifier_length, unsigned char *target_key_identifier);

/* symmetric-key-export */
void CSNDSYX(long *return_code, long *reason_code, long *exit_data_length, unsigned char *exit_data,
    long *rule_array_count, unsigned char *rule_array, long *source_key_identifier_length,
    unsigned char *source_key_identifier, long *rsa_public_key_identifier_len,
    unsigned char *rsa_public_key_identifier, long *rsa_enciphered_key_length, unsigned char *rsa_enciphered_key);

/* access-control-maintenance */
void CSUAACM(long *return_code, long *reason_code, long *exit_data_length, unsigned char *exit_data,
    long *rule_array_count, unsigned char *rule_array, unsigned char *name, long *output_data_length,
    unsigned char *output_data);

/* cryptographic-facility-query */
void CSUACFQ(long *return_code, long *reason_code, long *exit_data_length, unsigned char *exit_data,
    long *rule_array_count, unsigned char *rule_array, long *verb_data_length, unsigned char *verb_data);

/* Answered by the library itself. */
void CSNBAKRL(long *return_code, long *reason_code, long *exit_data_length, unsigned char *exit_data,
    long *rule_array_count, unsigned char *rule_array, unsigned char *key_label, long *data_set_name_length,
    unsigned char *data_set_name, unsigned char *security_server_name);
void CSNBKRL(long *return_code, long *reason_code, long *exit_data_length, unsigned char *exit_data,
    unsigned char *key_label, long *data_set_name_length, unsigned char *data_set_name,
    unsigned char *security_server_name);
void CSNDKRL(long *return_code, long *reason_code, long *exit_data_length, unsigned char *exit_data,
    long *rule_array_count, unsigned char *rule_array, unsigned char *key_label, long *data_set_name_length,
    unsigned char *data_set_name, unsigned char *security_server_name);
void CSUACFV(long *return_code, long *reason_code, long *exit_data_length, unsigned char *exit_data,
    long *version_data_length, unsigned char *version_data);
void CSUACRA(long *return_code, long *reason_code, long *exit_data_length, unsigned char *exit_data,
    long *rule_array_count, unsigned char *rule_array, long *resource_name_length, unsigned char *resource_name);
void CSUACRD(long *return_code, long *reason_code, long *exit_data_length, unsigned char *exit_data,
    long *rule_array_count, unsigned char *rule_array, long *resource_name_length, unsigned char *resource_name);

/* Not served: return code 8, reason code 713, and nothing else is looked at. */
void CSNBAPG(long *return_code, long *reason_code, long *exit_data_length, unsigned char *exit_data,
    long *rule_array_count, unsigned char *rule_array, long *inbound_pinencrypting_key_length,
    unsigned char *inbound_pinencrypting_key, unsigned char *encrypted_pinblock, unsigned char *issuer_domestic_code,
    unsigned char *card_secure_code, unsigned char *pandata, long *apencrypting_key_id_length,
    unsigned char *apencrypting_key_id, unsigned char *apvalue);
void CSNBCVT(long *return_code, long *reason_code, long *exit_data_length, unsigned char *exit_data,
    unsigned char *kek_key_identifier, unsigned char *source_key_token, unsigned char *array_key_left,
    unsigned char *mask_array_left, unsigned char *array_key_right, unsigned char *mask_array_right,
    long *rule_array_count, unsigned char *rule_array, unsigned char *target_key_token);
void CSNBDDPG(long *return_code, long *reason_code, long *exit_data_length, unsigned char *exit_data,
    long *rule_array_count, unsigned char *rule_array, long *account_info_er_length, unsigned char *account_info_er,
    long *pan_data_length, unsigned char *pan_data, long *card_p_data_length, unsigned char *card_p_data,
    long *card_t_data_length, unsigned char *card_t_data, long *pin_length,
    long *pin_generation_key_identifier_length, unsigned char *pin_generation_key_identifier,
    long *prw_key_identifier_length, unsigned char *prw_key_identifier, long *pin_print_key_identifier_length,
    unsigned char *pin_print_key_identifier, long *opin_encryption_key_identifier_length,
    unsigned char *opin_encryption_key_identifier, long *oepb_mac_key_identifier_length,
    unsigned char *oepb_mac_key_identifier, long *pin_reference_value_length, unsigned char *pin_reference_value,
    long *prw_random_number_length, unsigned char *prw_random_number, long *pin_print_block_length,
    unsigned char *pin_print_block, long *encrypted_pin_block_length, unsigned char *encrypted_pin_block,
    long *pin_block_mac_length, unsigned char *pin_block_mac);
void CSNBDMP(long *return_code, long *reason_code, long *exit_data_length, unsigned char *exit_data,
    long *rule_array_count, unsigned char *rule_array, long *pan_data_length, unsigned char *pan_data,
    long *card_p_data_length, unsigned char *card_p_data, long *card_t_data_length, unsigned char *card_t_data,
    long *iso1_pin_block_length, unsigned char *iso1_pin_block, long *ipin_encryption_key_identifier_length,
    unsigned char *ipin_encryption_key_identifier, long *prw_key_identifier_length, unsigned char *prw_key_identifier,
    long *opin_encryption_key_identifier_length, unsigned char *opin_encryption_key_identifier,
    long *oepb_mac_key_identifier_length, unsigned char *oepb_mac_key_identifier, long *pin_reference_value_length,
    unsigned char *pin_reference_value, long *prw_random_number_length, unsigned char *prw_random_number,
    long *output_encrypted_pin_block_length, unsigned char *output_encrypted_pin_block, long *pin_block_mac_length,
    unsigned char *pin_block_mac);
void CSNBDPC(long *return_code, long *reason_code, long *exit_data_length, unsigned char *exit_data,
    long *rule_array_count, unsigned char *rule_array, long *pan_data_length, unsigned char *pan_data,
    long *card_p_data_length, unsigned char *card_p_data, long *card_t_data_length, unsigned char *card_t_data,
    long *cur_iso1_pin_block_length, unsigned char *cur_iso1_pin_block, long *new_iso1_pin_block_length,
    unsigned char *new_iso1_pin_block, long *card_script_data_length, unsigned char *card_script_data,
    long *script_offset, long *script_offset_field_length, long *script_initialization_vector_length,
    unsigned char *script_initialization_vector, unsigned char *output_pin_profile, long *pin_reference_value_length,
    unsigned char *pin_reference_value, long *prw_random_number_length, unsigned char *prw_random_number,
    long *prw_key_identifier_length, unsigned char *prw_key_identifier,
    long *current_ipin_encryption_key_identifier_length, unsigned char *current_ipin_encryption_key_identifier,
    long *new_ipin_encryption_key_identifier_length, unsigned char *new_ipin_encryption_key_identifier,
    long *script_key_identifier_length, unsigned char *script_key_identifier, long *script_mac_key_identifier_length,
    unsigned char *script_mac_key_identifier, long *new_prw_key_identifier_length,
    unsigned char *new_prw_key_identifier, long *opin_encryption_key_identifier_length,
    unsigned char *opin_encryption_key_identifier, long *oepb_mac_key_identifier_length,
    unsigned char *oepb_mac_key_identifier, long *script_length, unsigned char *script, long *script_mac_length,
    unsigned char *script_mac, long *new_pin_reference_value_length, unsigned char *new_pin_reference_value,
    long *new_prw_random_number_length, unsigned char *new_prw_random_number, long *output_encrypted_pin_block_length,
    unsigned char *output_encrypted_pin_block, long *pin_block_mac_length, unsigned char *pin_block_mac);
void CSNBDPCG(long *return_code, long *reason_code, long *exit_data_length, unsigned char *exit_data,
    long *rule_array_count, unsigned char *rule_array, long *current_pan_data_length, unsigned char *current_pan_data,
    long *new_pan_data_length, unsigned char *new_pan_data, long *current_card_data_length,
    unsigned char *current_card_data, long *new_card_data_length, unsigned char *new_card_data,
    long *pin_reference_value_length, unsigned char *pin_reference_value, long *cmac_fus_key_identifier_length,
    unsigned char *cmac_fus_key_identifier, long *cmac_fus_length, unsigned char *cmac_fus);
void CSNBDPMT(long *return_code, long *reason_code, long *exit_data_length, unsigned char *exit_data,
    long *rule_array_count, unsigned char *rule_array, long *current_pan_data_length, unsigned char *current_pan_data,
    long *new_pan_data_length, unsigned char *new_pan_data, long *current_card_p_data_length,
    unsigned char *current_card_p_data, long *current_card_t_data_length, unsigned char *current_card_t_data,
    long *new_card_p_data_length, unsigned char *new_card_p_data, long *new_card_t_data_length,
    unsigned char *new_card_t_data, long *cmac_fus_length, unsigned char *cmac_fus,
    long *iso_encrypted_pin_block_length, unsigned char *iso_encrypted_pin_block,
    long *current_pin_reference_value_length, unsigned char *current_pin_reference_value,
    long *current_prw_random_number_length, unsigned char *current_prw_random_number,
    long *cmac_fus_key_identifier_length, unsigned char *cmac_fus_key_identifier,
    long *ipin_encryption_key_identifier_length, unsigned char *ipin_encryption_key_identifier,
    long *prw_key_identifier_length, unsigned char *prw_key_identifier, long *new_prw_key_identifier_length,
    unsigned char *new_prw_key_identifier, long *new_pin_reference_value_length,
    unsigned char *new_pin_reference_value, long *new_prw_random_number_length,
    unsigned char *new_prw_random_number);
void CSNBDPNU(long *return_code, long *reason_code, long *exit_data_length, unsigned char *exit_data,
    long *rule_array_count, unsigned char *rule_array, long *card_p_data_length, unsigned char *card_p_data,
    long *card_t_data_length, unsigned char *card_t_data, long *encrypted_pin_block_length,
    unsigned char *encrypted_pin_block, long *pin_block_mac_length, unsigned char *pin_block_mac,
    long *prw_key_identifier_length, unsigned char *prw_key_identifier, long *ipin_encryption_key_identifier_length,
    unsigned char *ipin_encryption_key_identifier, long *iepb_mac_key_identifier_length,
    unsigned char *iepb_mac_key_identifier, long *opin_encryption_key_identifier_length,
    unsigned char *opin_encryption_key_identifier, long *oepb_mac_key_identifier_length,
    unsigned char *oepb_mac_key_identifier, long *pin_reference_value_length, unsigned char *pin_reference_value,
    long *prw_random_number_length, unsigned char *prw_random_number, long *new_encrypted_pin_block_length,
    unsigned char *new_encrypted_pin_block, long *new_pin_block_mac_length, unsigned char *new_pin_block_mac);
void CSNBDPT(long *return_code, long *reason_code, long *exit_data_length, unsigned char *exit_data,
    long *rule_array_count, unsigned char *rule_array, long *card_p_data_length, unsigned char *card_p_data,
    long *card_t_data_length, unsigned char *card_t_data, long *new_pan_data_length, unsigned char *new_pan_data,
    long *new_card_p_data_length, unsigned char *new_card_p_data, long *pin_reference_value_length,
    unsigned char *pin_reference_value, long *prw_random_number_length, unsigned char *prw_random_number,
    long *current_encrypted_pin_block_length, unsigned char *current_encrypted_pin_block,
    long *current_pin_block_mac_length, unsigned char *current_pin_block_mac, long *prw_mac_key_identifier_length,
    unsigned char *prw_mac_key_identifier, long *ipin_encryption_key_identifier_length,
    unsigned char *ipin_encryption_key_identifier, long *iepb_mac_key_identifier_length,
    unsigned char *iepb_mac_key_identifier, long *opin_encryption_key_identifier_length,
    unsigned char *opin_encryption_key_identifier, long *oepb_mac_key_identifier_length,
    unsigned char *oepb_mac_key_identifier, long *new_encrypted_pin_block_length,
    unsigned char *new_encrypted_pin_block, long *new_pin_block_mac_length, unsigned char *new_pin_block_mac);
void CSNBDPV(long *return_code, long *reason_code, long *exit_data_length, unsigned char *exit_data,
    long *rule_array_count, unsigned char *rule_array, long *pan_data_length, unsigned char *pan_data,
    long *card_data_length, unsigned char *card_data, long *pin_reference_value_length,
    unsigned char *pin_reference_value, long *prw_random_number_length, unsigned char *prw_random_number,
    long *iso_encrypted_pin_block_length, unsigned char *iso_encrypted_pin_block, long *prw_key_identifier_length,
    unsigned char *prw_key_identifier, long *ipin_encryption_key_identifier_length,
    unsigned char *ipin_encryption_key_identifier);
void CSNBDRP(long *return_code, long *reason_code, long *exit_data_length, unsigned char *exit_data,
    long *rule_array_count, unsigned char *rule_array, long *card_p_data_length, unsigned char *card_p_data,
    long *card_t_data_length, unsigned char *card_t_data, long *encrypted_pin_block_length,
    unsigned char *encrypted_pin_block, long *pin_block_mac_length, unsigned char *pin_block_mac,
    long *prw_key_identifier_length, unsigned char *prw_key_identifier, long *ipin_encryption_key_identifier_length,
    unsigned char *ipin_encryption_key_identifier, long *iepb_mac_key_identifier_length,
    unsigned char *iepb_mac_key_identifier, long *opin_encryption_key_identifier_length,
    unsigned char *opin_encryption_key_identifier, long *oepb_mac_key_identifier_length,
    unsigned char *oepb_mac_key_identifier, long *pin_reference_value_length, unsigned char *pin_reference_value,
    long *prw_random_number_length, unsigned char *prw_random_number, long *new_encrypted_pin_block_length,
    unsigned char *new_encrypted_pin_block, long *new_pin_block_mac_length, unsigned char *new_pin_block_mac);
void CSNBDRPG(long *return_code, long *reason_code, long *exit_data_length, unsigned char *exit_data,
    long *rule_array_count, unsigned char *rule_array, long *pan_data_length, unsigned char *pan_data,
    long *card_p_data_length, unsigned char *card_p_data, long *card_t_data_length, unsigned char *card_t_data,
    long *pin_length, long *prw_key_identifier_length, unsigned char *prw_key_identifier,
    long *pin_print_key_identifier_length, unsigned char *pin_print_key_identifier,
    long *opin_encryption_key_identifier_length, unsigned char *opin_encryption_key_identifier,
    long *oepb_mac_key_identifier_length, unsigned char *oepb_mac_key_identifier, long *pin_reference_value_length,
    unsigned char *pin_reference_value, long *prw_random_number_length, unsigned char *prw_random_number,
    long *pin_print_block_length, unsigned char *pin_print_block, long *encrypted_pin_block_length,
    unsigned char *encrypted_pin_block, long *pin_block_mac_length, unsigned char *pin_block_mac);
void CSNBFPED(long *return_code, long *reason_code, long *exit_data_length, unsigned char *exit_data,
    long *rule_array_count, unsigned char *rule_array, long *enc_pan_length, unsigned char *enc_pan,
    long *enc_ch_name_length, unsigned char *enc_ch_name, long *enc_track1_ddata_length,
    unsigned char *enc_track1_ddata, long *enc_track2_ddata_length, unsigned char *enc_track2_ddata,
    long *key_identifier_length, unsigned char *key_identifier, long *derivation_data_length,
    unsigned char *derivation_data, long *clear_pan_length, unsigned char *clear_pan, long *clear_ch_name_length,
    unsigned char *clear_ch_name, long *clear_track1_ddata_length, unsigned char *clear_track1_ddata,
    long *clear_track2_ddata_length, unsigned char *clear_track2_ddata, long *dukpt_pin_key_identifier_length,
    unsigned char *dukpt_pin_key_identifier, long *reserved1_length, unsigned char *reserved1, long *reserved2_length,
    unsigned char *reserved2);
void CSNBFPEE(long *return_code, long *reason_code, long *exit_data_length, unsigned char *exit_data,
    long *rule_array_count, unsigned char *rule_array, long *clear_pan_length, unsigned char *clear_pan,
    long *clear_ch_name_length, unsigned char *clear_ch_name, long *clear_track1_ddata_length,
    unsigned char *clear_track1_ddata, long *clear_track2_ddata_length, unsigned char *clear_track2_ddata,
    long *key_identifier_length, unsigned char *key_identifier, long *derivation_data_length,
    unsigned char *derivation_data, long *enc_pan_length, unsigned char *enc_pan, long *enc_ch_name_length,
    unsigned char *enc_ch_name, long *enc_track1_ddata_length, unsigned char *enc_track1_ddata,
    long *enc_track2_ddata_length, unsigned char *enc_track2_ddata, long *dukpt_pin_key_identifier_length,
    unsigned char *dukpt_pin_key_identifier, long *reserved1_length, unsigned char *reserved1, long *reserved2_length,
    unsigned char *reserved2);
void CSNBFPET(long *return_code, long *reason_code, long *exit_data_length, unsigned char *exit_data,
    long *rule_array_count, unsigned char *rule_array, long *input_pan_length, unsigned char *input_pan,
    long *input_ch_name_length, unsigned char *input_ch_name, long *input_track1_ddata_length,
    unsigned char *input_track1_ddata, long *input_track2_ddata_length, unsigned char *input_track2_ddata,
    long *input_key_identifier_length, unsigned char *input_key_identifier, long *output_key_identifier_length,
    unsigned char *output_key_identifier, long *derivation_data_length, unsigned char *derivation_data,
    long *output_pan_length, unsigned char *output_pan, long *output_ch_name_length, unsigned char *output_ch_name,
    long *output_track1_ddata_length, unsigned char *output_track1_ddata, long *output_track2_ddata_length,
    unsigned char *output_track2_ddata, long *dukpt_pin_key_identifier_length,
    unsigned char *dukpt_pin_key_identifier, long *reserved1_length, unsigned char *reserved1, long *reserved2_length,
    unsigned char *reserved2);
void CSNBKSI(long *return_code, long *reason_code, long *exit_data_length, unsigned char *exit_data,
    long *rule_array_count, unsigned char *rule_array, long *file_name_length, unsigned char *file_name,
    long *description_length, unsigned char *description, unsigned char *clear_master_key);
void CSNBMKP(long *return_code, long *reason_code, long *exit_data_length, unsigned char *exit_data,
    long *rule_array_count, unsigned char *rule_array, unsigned char *key_part);
void CSNBPTRE(long *return_code, long *reason_code, long *exit_data_length, unsigned char *exit_data,
    long *rule_array_count, unsigned char *rule_array, long *in_pinenc_key_idlength, unsigned char *in_pinenc_key_id,
    long *out_pinenc_key_idlength, unsigned char *out_pinenc_key_id, long *panenc_key_idlength,
    unsigned char *panenc_key_id, long *in_pinprofile_length, unsigned char *in_pinprofile, long *pandata_length,
    unsigned char *pandata, long *in_pinblk_length, unsigned char *in_pinblk, long *out_pinprofile_length,
    unsigned char *out_pinprofile, long *sequence_number, long *out_pinblk_length, unsigned char *out_pinblk,
    long *reserved1_length, unsigned char *reserved1, long *reserved2_length, unsigned char *reserved2);
void CSNDPKH(long *return_code, long *reason_code, long *exit_data_length, unsigned char *exit_data,
    long *rule_array_count, unsigned char *rule_array, unsigned char *public_key_name, long *hash_data_length,
    unsigned char *hash_data);
void CSNDPKR(long *return_code, long *reason_code, long *exit_data_length, unsigned char *exit_data,
    long *rule_array_count, unsigned char *rule_array, unsigned char *public_key_name,
    long *public_key_certificate_length, unsigned char *public_key_certificate);
void CSNDRKD(long *return_code, long *reason_code, long *exit_data_length, unsigned char *exit_data,
    long *rule_array_count, unsigned char *rule_array, unsigned char *key_label);
void CSNDRKL(long *return_code, long *reason_code, long *exit_data_length, unsigned char *exit_data,
    long *rule_array_count, unsigned char *rule_array, unsigned char *key_label_mask, long *retained_keys_count,
    long *key_labels_count, unsigned char *key_labels);
void CSNDRKX(long *return_code, long *reason_code, long *exit_data_length, unsigned char *exit_data,
    long *rule_array_count, unsigned char *rule_array, long *trusted_block_length,
    unsigned char *trusted_block_identifier, long *certificate_length, unsigned char *certificate,
    long *certificate_parms_length, unsigned char *certificate_parms, long *transport_key_length,
    unsigned char *transport_key_identifier, long *rule_id_length, unsigned char *rule_id,
    long *export_key_kek_length, unsigned char *export_key_kek_identifier, long *export_key_length,
    unsigned char *export_key_identifier, long *asym_encrypted_key_length, unsigned char *asym_encrypted_key,
    long *sym_encrypted_key_length, unsigned char *sym_encrypted_key, long *extra_data_length,
    unsigned char *extra_data, long *key_check_parameters_length, unsigned char *key_check_parameters,
    long *key_check_length, unsigned char *key_check_value);
void CSNDSBC(long *return_code, long *reason_code, long *exit_data_length, unsigned char *exit_data,
    long *rule_array_count, unsigned char *rule_array, unsigned char *block_contents_identifier,
    long *x_data_string_length, unsigned char *x_data_string, long *data_to_encrypt_length,
    unsigned char *data_to_encrypt, long *data_to_hash_length, unsigned char *data_to_hash,
    unsigned char *initialization_vector, long *rsa_public_key_identifier_length,
    unsigned char *rsa_public_key_identifier, long *des_key_block_length, unsigned char *des_key_block,
    long *rsa_oaep_block_length, unsigned char *rsa_oaep_block, unsigned char *chaining_vector,
    unsigned char *des_encrypted_data_block);
void CSNDSBD(long *return_code, long *reason_code, long *exit_data_length, unsigned char *exit_data,
    long *rule_array_count, unsigned char *rule_array, long *rsa_oaep_block_length, unsigned char *rsa_oaep_block,
    long *des_encrypted_data_block_length, unsigned char *des_encrypted_data_block,
    unsigned char *initialization_vector, long *rsa_private_key_identifier_length,
    unsigned char *rsa_private_key_identifier, long *des_key_block_length, unsigned char *des_key_block,
    unsigned char *block_contents_identifier, long *x_data_string_length, unsigned char *x_data_string,
    unsigned char *chaining_vector, unsigned char *data_block, long *hash_block_length, unsigned char *hash_block);
void CSNDSXD(long *return_code, long *reason_code, long *exit_data_length, unsigned char *exit_data,
    long *rule_array_count, unsigned char *rule_array, long *source_key_length, unsigned char *source_key,
    long *data_length, long *data_offset, unsigned char *data, long *rsa_public_key_length,
    unsigned char *rsa_public_key, long *enciphered_key_length, unsigned char *enciphered_key);
void CSNDTBC(long *return_code, long *reason_code, long *exit_data_length, unsigned char *exit_data,
    long *rule_array_count, unsigned char *rule_array, long *input_block_length,
    unsigned char *input_block_identifier, unsigned char *transport_key_identifier, long *trusted_block_length,
    unsigned char *trusted_block_identifier);
void CSUAACI(long *return_code, long *reason_code, long *exit_data_length, unsigned char *exit_data,
    long *rule_array_count, unsigned char *rule_array, long *verb_data_1_length, unsigned char *verb_data_1,
    long *verb_data_2_length, unsigned char *verb_data_2);
void CSUACFC(long *return_code, long *reason_code, long *exit_data_length, unsigned char *exit_data,
    long *rule_array_count, unsigned char *rule_array, long *verb_data_length, unsigned char *verb_data);
void CSUACIE(long *return_code, long *reason_code, long *exit_data_length, unsigned char *exit_data,
    long *rule_array_count, unsigned char *rule_array, long *public_key_certificate_length,
    unsigned char *public_key_certificate);
void CSUADHK(long *return_code, long *reason_code, long *exit_data_length, unsigned char *exit_data,
    long *rule_array_count, unsigned char *rule_array, unsigned char *dhmodulus, unsigned char *dhgenerator,
    unsigned char *dhkey_part, long *transport_key_hash_length, unsigned char *transport_key_hash,
    long *dhmodulus_length, unsigned char *party_id, unsigned char *reserved1, unsigned char *reserved2);
void CSUADHQ(long *return_code, long *reason_code, long *exit_data_length, unsigned char *exit_data,
    long *rule_array_count, unsigned char *rule_array, unsigned char *dhmodulus, unsigned char *dhgenerator,
    unsigned char *dhkey_part, long *transport_key_hash_length, unsigned char *transport_key_hash,
    long *dhmodulus_length, unsigned char *party_id, unsigned char *reserved1, unsigned char *reserved2);
void CSUAKIX(long *return_code, long *reason_code, long *exit_data_length, unsigned char *exit_data,
    long *rule_array_count, unsigned char *rule_array, unsigned char *key_part, unsigned char *key_identifier,
    long *seskey_vp_length, unsigned char *seskey_vp, long *keypart_vp_length, unsigned char *keypart_vp);
void CSUAKTX(long *return_code, long *reason_code, long *exit_data_length, unsigned char *exit_data,
    long *rule_array_count, unsigned char *rule_array, long *key_data_length, unsigned char *key_data,
    long *secure_data_length, unsigned char *secure_data, long *key_data_vp_length, unsigned char *key_data_vp,
    long *session_key_vp_length, unsigned char *session_key_vp, long *xport_key_vp_length,
    unsigned char *xport_key_vp, long *xlt_key_data_length, unsigned char *xlt_key_data, long *xlt_secure_data_length,
    unsigned char *xlt_secure_data);
void CSUALCT(long *return_code, long *reason_code, long *exit_data_length, unsigned char *exit_data,
    long *rule_array_count, unsigned char *rule_array, unsigned char *user_id, long *auth_parm_length,
    unsigned char *auth_parm, long *auth_data_length, unsigned char *auth_data);
void CSUALGQ(long *return_code, long *reason_code, long *exit_data_length, unsigned char *exit_data,
    long *rule_array_count, unsigned char *rule_array, long *log_number, long *reserved0, long *log_data_length,
    unsigned char *log_data, long *reserved1_length, unsigned char *reserved1, long *reserved2_length,
    unsigned char *reserved2);
void CSUAMKD(long *return_code, long *reason_code, long *exit_data_length, unsigned char *exit_data,
    long *rule_array_count, unsigned char *rule_array, long *share_index, unsigned char *private_key_name,
    unsigned char *certifying_key_name, long *certificate_length, unsigned char *certificate,
    long *clone_info_encrypting_key_length, unsigned char *clone_info_encrypting_key, long *clone_info_length,
    unsigned char *clone_info);
void CSUAMKX(long *return_code, long *reason_code, long *exit_data_length, unsigned char *exit_data,
    long *rule_array_count, unsigned char *rule_array, unsigned char *key_part, long *seskey_vp_length,
    unsigned char *seskey_vp, long *keypart_vp_length, unsigned char *keypart_vp);
void CSUAPCV(long *return_code, long *reason_code, long *exit_data_length, unsigned char *exit_data,
    long *rule_array_count, unsigned char *rule_array, long *kek_key_identifier_length,
    unsigned char *kek_key_identifier, long *pcf_key_list_length, unsigned char *pcf_key_list,
    long *output_key_list_length, unsigned char *output_key_list);
void CSUAPRB(long *return_code, long *reason_code, long *exit_data_length, unsigned char *exit_data,
    long *rule_array_count, unsigned char *rule_array, long *source_length, unsigned char *source,
    long *out_file_name_length, unsigned char *out_file_name, long *reply_length, unsigned char *reply);
void CSUARNT(long *return_code, long *reason_code, long *exit_data_length, unsigned char *exit_data,
    long *rule_array_count, unsigned char *rule_array);
void CSUARNX(long *return_code, long *reason_code, long *exit_data_length, unsigned char *exit_data,
    long *rule_array_count, unsigned char *rule_array, long *key_length, unsigned char *key, long *rnum_length,
    unsigned char *rnum, long *rnum_hash_length, unsigned char *rnum_hash, long *sk_hash_length,
    unsigned char *sk_hash, long *secdata_length, unsigned char *secdata, long *optdata_length,
    unsigned char *optdata);
void CSUASKE(long *return_code, long *reason_code, long *exit_data_length, unsigned char *exit_data,
    long *rule_array_count, unsigned char *rule_array, long *cert_in_length, unsigned char *cert_in,
    long *cert_out_length, unsigned char *cert_out, long *key_block_length, unsigned char *key_block,
    long *key_signature_length, unsigned char *key_signature, long *key_vp_length, unsigned char *key_vp,
    long *rnum_length, unsigned char *rnum);

#ifdef __cplusplus
}
#endif

#endif
